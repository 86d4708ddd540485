import type { Undo } from '../../../base/emitter.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import type {
  Changes,
  ClientTransaction,
  Judge,
  Log,
  Position,
  Read,
  Snapshot,
  Tell,
  Verdict,
  Written,
} from '../log.ts'

/** A log that is opened when it is first used. Where that fails, whoever asks next has it tried again. */
export class LateLog implements Log {
  readonly #open: () => Promise<Log>
  #log: Promise<Log> | undefined
  #closed = false

  constructor(open: () => Promise<Log>) {
    this.#open = open
  }

  async write(ops: readonly TxOp[], judge: Judge, tell?: Tell): Promise<number> {
    return (await this.#opened()).write(ops, judge, tell)
  }

  async transact(transaction: ClientTransaction, judge: Judge, tell?: Tell): Promise<Verdict> {
    return (await this.#opened()).transact(transaction, judge, tell)
  }

  async snapshot(owner: string): Promise<Snapshot> {
    return (await this.#opened()).snapshot(owner)
  }

  async delta(owner: string, since: number): Promise<Read> {
    return (await this.#opened()).delta(owner, since)
  }

  async changes(after: number, limit: number): Promise<Changes> {
    return (await this.#opened()).changes(after, limit)
  }

  async position(): Promise<Position> {
    return (await this.#opened()).position()
  }

  onHint(listener: (written?: Written) => void): Undo {
    let undo: Undo | undefined
    let isUndone = false
    const listen = async () => {
      const log = await this.#opened()
      if (!isUndone) undo = log.onHint(listener)
    }
    // Whoever listens also reads, and is told there what failed.
    listen().catch(() => {})
    return () => {
      isUndone = true
      undo?.()
    }
  }

  async trim(sid: number): Promise<void> {
    await (await this.#opened()).trim(sid)
  }

  async close(): Promise<void> {
    this.#closed = true
    const log = await this.#log?.catch(() => undefined)
    await log?.close()
  }

  #opened(): Promise<Log> {
    if (this.#closed) return Promise.reject(new Error('The log is closed.'))
    this.#log ??= this.#open().catch((error) => {
      this.#log = undefined
      throw error
    })
    return this.#log
  }
}
