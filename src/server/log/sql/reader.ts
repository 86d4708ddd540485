import type { Clock } from '../../../base/environment.ts'
import { toError } from '../../../base/errors.ts'
import type { Logger } from '../../../base/logger.ts'
import { Timer } from '../../../base/timer.ts'
import type { Cursor } from './cursor.ts'
import { Spool, SpoolFile } from './spool.ts'

export interface ReaderOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** How long a client may read nothing, in ms, before the read is aborted. */
  readonly readerIdleMs: number
  /** How long a read may take, in ms, before its rest is spooled. */
  readonly spoolAfterMs: number
  /** How long a read may take in total, in ms, before it is aborted. */
  readonly maxReadMs: number
}

/** The connections for bootstraps, and those for deltas. */
export type ReadPool = 'readers' | 'deltas'

/**
 * Returns the batches of cursors. Other requests wait for the connection of a cursor. So a slow read is copied to a
 * file, and a read that makes no progress is aborted.
 */
export class Reader {
  readonly #options: ReaderOptions
  readonly #open = new Map<Batches, ReadPool>()

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** `pool`: where the connection of the cursor comes from. */
  read(cursor: Cursor, pool: ReadPool): AsyncIterable<string> {
    const batches = new Batches(cursor, this.#options, () => this.#open.delete(batches))
    this.#open.set(batches, pool)
    return batches
  }

  /** The number of reads that hold a connection of `pool`. */
  held(pool: ReadPool): number {
    return this.#holders(pool).length
  }

  /** Spools all reads that hold a connection of `pool`, because others wait for one. */
  release(pool: ReadPool): void {
    for (const batches of this.#holders(pool)) batches.spool()
  }

  #holders(pool: ReadPool): Batches[] {
    return [...this.#open].flatMap(([batches, of]) =>
      of === pool && batches.holdsConnection ? [batches] : [],
    )
  }

  /** Aborts all open reads. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((batches) => batches.abort()))
  }
}

class Batches {
  #cursor: Cursor
  readonly #options: ReaderOptions
  readonly #idle: Timer
  readonly #slow: Timer
  readonly #late: Timer
  readonly #onEnd: () => void
  #aborted = false
  /** Whether the next batch is being fetched. */
  #fetching = false
  #isSlow = false
  #ended = false

  constructor(cursor: Cursor, options: ReaderOptions, onEnd: () => void) {
    this.#cursor = cursor
    this.#options = options
    this.#onEnd = onEnd
    this.#idle = new Timer(options.clock, () => void this.abort())
    this.#idle.set(options.readerIdleMs)
    this.#slow = new Timer(options.clock, () => this.spool())
    this.#slow.set(options.spoolAfterMs)
    this.#late = new Timer(options.clock, () => void this.abort())
    this.#late.set(options.maxReadMs)
  }

  get holdsConnection(): boolean {
    return this.#cursor.holdsConnection
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    this.#idle.clear()
    if (this.#aborted)
      throw new Error(
        'The read was aborted: it took too long, the client read nothing, or the log was closed.',
      )
    const value = await this.#fetch()
    if (value === '') return this.return()
    this.#idle.set(this.#options.readerIdleMs)
    return { done: false, value }
  }

  async return(): Promise<IteratorResult<string>> {
    for (const timer of [this.#idle, this.#slow, this.#late]) timer.clear()
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
      // Callers do not call `return` after an error, so release the connection here.
      await this.return()
      throw error
    } finally {
      this.#fetching = false
      if (this.#isSlow) this.spool()
    }
  }

  /** Frees the connection. Must not happen during a fetch, since that batch would be lost or returned twice. */
  spool(): void {
    this.#isSlow = this.#fetching
    if (this.#fetching || this.#ended || this.#cursor instanceof Spool) return
    this.#cursor = new SpoolFile(this.#cursor).read()
  }

  async abort(): Promise<void> {
    this.#aborted = true
    try {
      await this.return()
    } catch (error) {
      this.#options.logger.warn('A read could not be ended.', { reason: toError(error).message })
    }
  }
}
