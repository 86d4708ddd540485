import type { Clock } from '../../../base/environment.ts'
import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { Timer } from '../../../base/timer.ts'
import type { Cursor } from './cursor.ts'
import { Spool } from './spool.ts'

export interface ReaderOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** How long nothing may be taken from a read, in ms, before it is cut. */
  readonly readerIdleMs: number
  /** How long a read may take, in ms, before what is left of it is spooled. */
  readonly spoolAfterMs: number
  /** How long it may take in all, in ms, before it is cut. */
  readonly maxReadMs: number
}

/**
 * Hands out what cursors give. What a cursor holds, others wait for: one that is read slowly is copied to a file, and
 * one that nobody takes from is cut.
 */
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
  #cursor: Cursor
  readonly #options: ReaderOptions
  readonly #idle: Timer
  readonly #slow: Timer
  readonly #late: Timer
  readonly #onEnd: () => void
  #cut = false
  /** Whether the next batch is being fetched. */
  #fetching = false
  #isSlow = false
  #ended = false

  constructor(cursor: Cursor, options: ReaderOptions, onEnd: () => void) {
    this.#cursor = cursor
    this.#options = options
    this.#onEnd = onEnd
    this.#idle = new Timer(options.clock, () => void this.cut())
    this.#idle.set(options.readerIdleMs)
    this.#slow = new Timer(options.clock, () => this.#spool())
    this.#slow.set(options.spoolAfterMs)
    this.#late = new Timer(options.clock, () => void this.cut())
    this.#late.set(options.maxReadMs)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    this.#idle.clear()
    if (this.#cut)
      throw new Error('The read was cut: it took too long, nothing was taken from it, or the log closed.')
    const value = await this.#fetch()
    if (value === '') return this.return()
    this.#idle.set(this.#options.readerIdleMs)
    return { done: false, value }
  }

  async return(): Promise<IteratorResult<string>> {
    for (const alarm of [this.#idle, this.#slow, this.#late]) alarm.clear()
    this.#ended = true
    this.#onEnd()
    await this.#cursor.close()
    return { done: true, value: undefined }
  }

  async #fetch(): Promise<string> {
    this.#fetching = true
    try {
      return await this.#cursor.next()
    } catch (error) {
      // Nobody ends an iterator that has failed, and what its cursor holds others wait for.
      await this.return()
      throw error
    } finally {
      this.#fetching = false
      if (this.#isSlow) this.#spool()
    }
  }

  /** Frees the database. Not while a batch is fetched, which would come twice or never. */
  #spool(): void {
    this.#isSlow = this.#fetching
    if (this.#fetching || this.#ended || this.#cursor instanceof Spool) return
    this.#cursor = new Spool(this.#cursor)
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
