import type { Clock } from '../base/environment.ts'
import { ProtocolError, toSyncError } from '../base/errors.ts'
import { failureOf } from '../network/failure.ts'
import type { SnapshotProgress, Transport } from '../network/transport.ts'
import type { Restored } from '../persistence/stored-data.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import { ofBroken, ofCount, ofUnknown } from './anomalies.ts'
import { download, isComplete } from './download.ts'
import type { ResetEvent, ResetReason } from './events.ts'
import type { LocalCopy } from './local-copy.ts'
import { LoopGuard } from './loop-guard.ts'
import type { ModelCheck } from './model-check.ts'
import type { Outcome } from './position.ts'
import type { Reporter } from './reporter.ts'
import { ResyncPolicy } from './resync-policy.ts'
import type { SyncResult } from './sync-result.ts'

export interface FetcherOptions {
  readonly transport: Transport
  readonly copy: LocalCopy
  readonly clock: Clock
  readonly modelCheck: ModelCheck
  readonly reporter: Pick<Reporter, 'anomalies' | 'failure'>
  readonly listener: FetchListener
}

export interface FetchListener {
  progress(progress: SnapshotProgress): void
  reset(event: ResetEvent): void
}

/** Brings the copy into step with the server, by one delta or one bootstrap, and decides which of the two. */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #guard: LoopGuard
  readonly #resets: ResyncPolicy
  #bootstrapping = false
  /** The number of downloads since the last complete one. */
  #attempts = 0

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#guard = new LoopGuard(options.clock)
    this.#resets = new ResyncPolicy(options.clock)
  }

  /** Whether a bootstrap is running, which will replace the data. */
  get bootstrapping(): boolean {
    return this.#bootstrapping
  }

  /**
   * Brings the copy up to date: by a delta, or by a bootstrap, which may follow a delta that was not enough. `asked`:
   * the application asked for the fetch. Such fetches are not limited in number; others fail with a ProtocolError of
   * code `loop` if they repeat too fast.
   */
  async fetch(signal: AbortSignal, asked: boolean): Promise<SyncResult> {
    const { copy } = this.#options
    const position = copy.since
    if (!asked && !this.#guard.allows(position)) {
      throw new ProtocolError('loop', `Too many requests at position ${position ?? 'none'}; waiting.`)
    }
    if (position === undefined || position <= 0 || this.#resets.due) return this.#bootstrap(signal)
    const result = await this.#delta(position, signal)
    if (!result) return this.#bootstrap(signal)
    return this.#resets.isRepairDue ? this.#repair(result, signal) : result
  }

  /** Call with the outcome of each delta. Returns whether a repair is due now. */
  noteOutcome({ changes, unknown, entry }: Outcome): boolean {
    this.#options.modelCheck.changed(changes())
    return this.noteUnknown(unknown, entry?.owesRepair ?? false)
  }

  /** Call when updates turn out to be for records that do not exist here. Returns whether a repair is due now. */
  noteUnknown(unknown: readonly RowOp[], owesRepair = true): boolean {
    this.#options.reporter.anomalies(ofUnknown(unknown))
    if (owesRepair) this.#resets.owe()
    return this.#resets.isRepairDue
  }

  /** Call with the repair state that was stored before a restart. */
  restored(repair: Restored['repair']): void {
    this.#resets.restore(repair)
  }

  /** Makes the next fetch a bootstrap, because the disk lost data that is not in memory. */
  refill(): void {
    this.#resets.refill()
  }

  /** Fetches and applies one delta. Resolves with `undefined` if a bootstrap has to follow. */
  async #delta(since: number, signal: AbortSignal): Promise<SyncResult | undefined> {
    const { transport, copy, reporter } = this.#options
    const { results } = copy
    let delta: DeltaMessage
    try {
      delta = await transport.delta(since, signal)
    } catch (error) {
      return this.#afterFailure(error)
    }
    this.#resets.arrived()
    reporter.anomalies(ofBroken(delta))
    let changes = 0
    const reset = await copy.takeInTurns(delta, { since, results }, (outcome) => {
      this.noteOutcome(outcome)
      changes += outcome.changes().length + outcome.unloadedOps.length
    })
    if (reset) return this.#reset(reset, discontinuous(reset))
    this.#resets.continued()
    return { kind: 'delta', sid: copy.position?.confirmed ?? delta.sid, changes }
  }

  /** Bootstraps after the delta of `result`, to bring missing records. If the bootstrap fails, returns `result`. */
  async #repair(result: SyncResult, signal: AbortSignal): Promise<SyncResult> {
    const { clock, reporter } = this.#options
    try {
      return await this.#bootstrap(signal, clock.now())
    } catch (error) {
      const failure = failureOf(error)
      if (signal.aborted || failure.kind === 'unauthenticated') throw error
      this.#resets.failed(failure.kind === 'other' ? failure.retryAfterMs : undefined)
      reporter.failure(toSyncError(error))
      return result
    }
  }

  /** `repairedAt`: the start time of a bootstrap that brings missing records, in ms since the epoch. */
  async #bootstrap(signal: AbortSignal, repairedAt?: number): Promise<SyncResult> {
    this.#bootstrapping = true
    try {
      return await this.#replace(signal, repairedAt)
    } finally {
      this.#bootstrapping = false
    }
  }

  async #replace(signal: AbortSignal, repairedAt?: number): Promise<SyncResult> {
    const { transport, copy, reporter, listener } = this.#options
    const position = copy.position
    const { results } = copy
    const reason = this.#resets.due ?? (repairedAt === undefined ? undefined : 'repair')
    const load = () =>
      download(transport, copy, signal, () => {
        this.#attempts += 1
        const attempt = this.#attempts
        return (progress) => listener.progress({ ...progress, attempt })
      })
    let loaded = await load()
    if (!isComplete(loaded)) {
      await loaded.pages.abort()
      loaded = await load()
    }
    const { head, rows, broken } = loaded
    reporter.anomalies(ofBroken({ kind: 'row', broken, sid: head.sid }))
    if (!isComplete(loaded)) reporter.anomalies([ofCount(head.count, rows + broken.length, head.sid)])
    // If neither disk nor memory has the lazy types, download the snapshot again.
    const repair = { at: repairedAt ?? this.#resets.repairedAt }
    if (!(await copy.replace(loaded, results, repair))) return this.#replace(signal, repairedAt)
    this.#resets.made(head.sid, repairedAt)
    this.#attempts = 0
    if (reason) listener.reset({ reason, since: position?.shown ?? 0 })
    return { kind: 'bootstrap', sid: head.sid, changes: rows }
  }

  /** Decides after a failed delta: returns if a bootstrap is due, and throws `error` if the delta is to be retried. */
  #afterFailure(error: unknown): undefined {
    const failure = failureOf(error)
    if (failure.kind === 'reset') return this.#reset(failure.reason, error)
    if (failure.kind !== 'refused' || !this.#resets.refused(failure.status)) throw error
    return this.#reset('refused', error)
  }

  #reset(reason: ResetReason, error: unknown): undefined {
    if (!this.#resets.reset(reason)) throw error
  }
}

function discontinuous(reason: ResetReason): ProtocolError {
  return new ProtocolError(
    'discontinuous',
    `The server's delta does not continue its own snapshot (${reason}).`,
  )
}
