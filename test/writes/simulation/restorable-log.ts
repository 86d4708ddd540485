import type { Clock, Random } from '../../../src/base/environment.ts'
import type { TxOp } from '../../../src/protocol/tx.ts'
import { type Log, MemoryLog } from '../../../src/server/index.ts'
import { History, type Write } from './history.ts'

interface Done {
  readonly again: (log: Log) => Promise<unknown>
  readonly write: Write | undefined
}

export interface RestorableLogOptions {
  readonly clock: Clock
  readonly random: Random
  readonly users: readonly string[]
  readonly listener: {
    accepted(id: string, before: History): void
    /** The transaction would have written `ops`, and one of them has a condition that does not hold. */
    conflict(id: string, ops: readonly TxOp[], history: History): void
  }
}

/** A log in memory that can be put back to an earlier state, as from a backup, and that tells what it came to hold. */
export class RestorableLog implements Log {
  readonly history: History
  /** Whether it forgot something. */
  trimmed = false
  readonly #options: RestorableLogOptions
  readonly #inner: Log
  readonly #done: Done[] = []
  readonly #judged = new Set<string>()

  constructor(options: RestorableLogOptions) {
    this.#options = options
    this.#inner = new MemoryLog(options)
    this.history = new History(options.users)
  }

  /** Another history, which begins with this one's first writes, `writes` of them. */
  async restored(writes: number): Promise<RestorableLog> {
    const log = new RestorableLog(this.#options)
    for (const done of this.#done.slice(0, writes)) {
      await done.again(log.#inner)
      log.#note(done)
    }
    return log
  }

  get writes(): number {
    return this.#done.length
  }

  readonly write: Log['write'] = async (ops, judge) => {
    const sid = await this.#inner.write(ops, judge)
    this.#note({ again: (log) => log.write(ops, judge), write: { ops, sid } })
    return sid
  }

  readonly transact: Log['transact'] = async (transaction, judge) => {
    const { id, owner, ops } = transaction
    const verdict = await this.#inner.transact(transaction, judge)
    if (this.#judged.has(id)) return verdict
    const { listener } = this.#options
    if ('sid' in verdict) listener.accepted(id, this.history)
    else if (verdict.error.code === 'conflict') listener.conflict(id, ops, this.history)
    this.#note({
      again: (log) => log.transact(transaction, judge),
      write: 'sid' in verdict ? { ops, sid: verdict.sid, by: { id, owner } } : undefined,
    })
    this.#judged.add(id)
    return verdict
  }

  readonly snapshot: Log['snapshot'] = (owner) => this.#inner.snapshot(owner)
  readonly delta: Log['delta'] = (owner, since) => this.#inner.delta(owner, since)
  readonly changes: Log['changes'] = (after, limit) => this.#inner.changes(after, limit)
  readonly position: Log['position'] = () => this.#inner.position()
  readonly onHint: Log['onHint'] = (listener) => this.#inner.onHint(listener)
  readonly trim: Log['trim'] = async (sid) => {
    this.trimmed = true
    // What is forgotten makes verdicts: one that is put back has to forget it, too, to judge as before.
    this.#note({ again: (log) => log.trim(sid), write: undefined })
    await this.#inner.trim(sid)
  }
  readonly close: Log['close'] = () => this.#inner.close()

  #note(done: Done): void {
    this.#done.push(done)
    const { write } = done
    if (write?.by) this.#judged.add(write.by.id)
    if (write) this.history.add(write)
  }
}
