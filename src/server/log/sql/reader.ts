import { Alarm } from '../../../base/alarm.ts'
import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Clock } from '../../../base/world.ts'
import type { Cursor } from './read.ts'

export interface ReaderOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** How long nothing may be taken from a read, in ms, before it is cut. */
  readonly readerIdleMs: number
}

/** Hands out what cursors give. What a cursor holds, others wait for: one that nobody takes from is cut. */
export class Reader {
  readonly #options: ReaderOptions
  readonly #open = new Set<Batches>()

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(cursor: Cursor): AsyncIterable<string> {
    const batches = new Batches(cursor, this.#options, () => this.#open.delete(batches))
    this.#open.add(batches)
    return batches
  }

  /** Cuts what is still being read. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((batches) => batches.cut()))
  }
}

class Batches {
  readonly #cursor: Cursor
  readonly #options: ReaderOptions
  readonly #idle: Alarm
  readonly #onEnd: () => void
  #cut = false

  constructor(cursor: Cursor, options: ReaderOptions, onEnd: () => void) {
    this.#cursor = cursor
    this.#options = options
    this.#onEnd = onEnd
    this.#idle = new Alarm(options.clock, () => void this.cut())
    this.#idle.set(options.readerIdleMs)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    this.#idle.clear()
    if (this.#cut)
      throw new Error('The read was cut: nothing was taken from it for too long, or the log closed.')
    const value = await this.#cursor.next()
    if (value === '') return this.return()
    this.#idle.set(this.#options.readerIdleMs)
    return { done: false, value }
  }

  async return(): Promise<IteratorResult<string>> {
    this.#idle.clear()
    this.#onEnd()
    await this.#cursor.close()
    return { done: true, value: undefined }
  }

  async cut(): Promise<void> {
    this.#cut = true
    try {
      await this.return()
    } catch (error) {
      this.#options.logger.warn('A read could not be ended.', { reason: toError(error).message })
    }
  }
}
