import type { Unsubscribe } from '../../../base/emitter.ts'
import type { TxOp } from '../../../protocol/tx.ts'
import type {
  Changes,
  ClientTransaction,
  Delta,
  Judge,
  ListedRecord,
  Log,
  LogFault,
  OnCommitted,
  Position,
  RecordKey,
  RecordPage,
  Snapshot,
  StoredRecord,
  Verdict,
  WriteResult,
} from '../log.ts'

/** A log that is opened and claimed for `ownerField` at its first use. After a failure, the next use tries again. */
export class LazyLog implements Log {
  readonly #open: () => Promise<Log>
  readonly #ownerField: string
  #log: Promise<Log> | undefined
  #claimed: Promise<Log> | undefined
  /** The log, once it is open. */
  #opened: Log | undefined
  #closed = false

  /** If `log` is open already, `close` closes it even if it was never used. */
  constructor(log: Log | (() => Promise<Log>), ownerField: string) {
    this.#open = typeof log === 'function' ? log : async () => log
    this.#ownerField = ownerField
    if (typeof log !== 'function') this.#log = this.#open()
  }

  async write(ops: readonly TxOp[], judge: Judge, onCommitted?: OnCommitted): Promise<number> {
    return (await this.#ready()).write(ops, judge, onCommitted)
  }

  async transact(transaction: ClientTransaction, judge: Judge, onCommitted?: OnCommitted): Promise<Verdict> {
    return (await this.#ready()).transact(transaction, judge, onCommitted)
  }

  async read(t: string, id: string): Promise<StoredRecord | undefined> {
    return (await this.#ready()).read(t, id)
  }

  async list(page: RecordPage): Promise<readonly ListedRecord[]> {
    return (await this.#ready()).list(page)
  }

  async owners(after: string, limit: number): Promise<readonly string[]> {
    return (await this.#ready()).owners(after, limit)
  }

  async keysOf(owner: string, limit: number): Promise<readonly RecordKey[]> {
    return (await this.#ready()).keysOf(owner, limit)
  }

  async forget(owner: string, caller?: string): Promise<boolean> {
    return (await this.#ready()).forget(owner, caller)
  }

  async snapshot(owners: readonly string[], caller?: string): Promise<Snapshot> {
    return (await this.#ready()).snapshot(owners, caller)
  }

  async delta(owners: readonly string[], since: number, caller?: string): Promise<Delta> {
    return (await this.#ready()).delta(owners, since, caller)
  }

  async changes(after: number, limit: number): Promise<Changes> {
    return (await this.#ready()).changes(after, limit)
  }

  async position(): Promise<Position> {
    return (await this.#ready()).position()
  }

  faults(): readonly LogFault[] {
    return this.#opened?.faults?.() ?? []
  }

  onHint(listener: (written?: WriteResult) => void): Unsubscribe {
    let undo: Unsubscribe | undefined
    let isUndone = false
    const listen = async () => {
      const log = await this.#ready()
      if (!isUndone) undo = log.onHint(listener)
    }
    // The caller also reads from the log, and gets the error there.
    listen().catch(() => {})
    return () => {
      isUndone = true
      undo?.()
    }
  }

  async trim(sid: number): Promise<void> {
    await (await this.#ready()).trim(sid)
  }

  async close(): Promise<void> {
    this.#closed = true
    const log = await this.#log?.catch(() => undefined)
    await log?.close()
  }

  #ready(): Promise<Log> {
    if (this.#closed) return Promise.reject(new Error('The log is closed.'))
    this.#claimed ??= this.#claim().catch((error) => {
      this.#claimed = undefined
      throw error
    })
    return this.#claimed
  }

  /** If the claim fails, the log stays open, since opening takes longer than claiming. */
  async #claim(): Promise<Log> {
    this.#log ??= this.#open().catch((error) => {
      this.#log = undefined
      throw error
    })
    const log = await this.#log
    this.#opened = log
    await log.claim?.(this.#ownerField)
    return log
  }
}
