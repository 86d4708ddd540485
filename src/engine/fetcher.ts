import type { Clock } from '../base/environment.ts'
import { ProtocolError, toSyncError } from '../base/errors.ts'
import { failureOf } from '../network/failure.ts'
import type { SnapshotProgress, Transport } from '../network/transport.ts'
import type { Restored } from '../persistence/database.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { RowOp } from '../protocol/fold.ts'
import { ofBroken, ofCount, ofUnknown } from './anomalies.ts'
import { download, isComplete } from './download.ts'
import type { ResetEvent, ResetReason } from './events.ts'
import type { LocalCopy } from './local-copy.ts'
import { LoopGuard } from './loop-guard.ts'
import type { Outcome } from './position.ts'
import type { Reporter } from './reporter.ts'
import { ResyncPolicy } from './resync-policy.ts'
import type { SyncResult } from './sync-result.ts'

/** So many equal refusals of a delta in a row, and it is not asked a fourth time. */
const maxRefusals = 3

export interface FetcherOptions {
  readonly transport: Transport
  readonly copy: LocalCopy
  readonly clock: Clock
  readonly reporter: Pick<Reporter, 'anomalies' | 'failure'>
  readonly listener: FetchListener
}

export interface FetchListener {
  progress(progress: SnapshotProgress): void
  reset(event: ResetEvent): void
}

/** Brings the copy to where the server is, with one delta or one bootstrap, and decides which of them. */
export class Fetcher {
  readonly #options: FetcherOptions
  readonly #guard: LoopGuard
  readonly #resets: ResyncPolicy
  #refusals = noRefusals
  #bootstrapping = false

  constructor(options: FetcherOptions) {
    this.#options = options
    this.#guard = new LoopGuard(options.clock)
    this.#resets = new ResyncPolicy(options.clock)
  }

  /** Whether other data is about to stand in place of the copy's. */
  get bootstrapping(): boolean {
    return this.#bootstrapping
  }

  /** `asked`: by the application, which may ask as often as it likes. */
  async fetch(signal: AbortSignal, asked: boolean): Promise<SyncResult> {
    const { copy } = this.#options
    const position = copy.position?.confirmed
    if (!asked && !this.#guard.allows(position)) {
      throw new ProtocolError(
        'loop',
        `The server was asked too often at position ${position ?? 'none'}; waiting.`,
      )
    }
    if (position === undefined || position <= 0 || this.#resets.due) return this.#bootstrap(signal)
    const result = await this.#delta(position, signal)
    if (!result) return this.#bootstrap(signal)
    return this.#resets.isRepairDue ? this.#repair(result, signal) : result
  }

  /** To be told what came of a delta. Gives whether a repair is to follow now. */
  taken({ unknown, entry }: Pick<Outcome, 'unknown' | 'entry'>): boolean {
    this.#options.reporter.anomalies(ofUnknown(unknown))
    if (entry?.owesRepair) this.#resets.owe()
    return this.#resets.isRepairDue
  }

  /** Changes came for records that turn out not to be here. Gives whether a repair is to follow now. */
  missing(unknown: readonly RowOp[]): boolean {
    this.#options.reporter.anomalies(ofUnknown(unknown))
    this.#resets.owe()
    return this.#resets.isRepairDue
  }

  /** What is known from before a restart. */
  restored(repair: Restored['repair']): void {
    this.#resets.restore(repair)
  }

  /** Makes the next fetch a bootstrap, for what the disk was to hold and does not give. */
  refill(): void {
    this.#resets.refill()
  }

  /** One delta. Resolves with nothing where a bootstrap has to follow. */
  async #delta(since: number, signal: AbortSignal): Promise<SyncResult | undefined> {
    const { transport, copy, reporter } = this.#options
    const { results } = copy
    let delta: DeltaMessage
    try {
      delta = await transport.delta(since, signal)
    } catch (error) {
      return this.#afterFailure(error)
    }
    this.#refusals = noRefusals
    reporter.anomalies(ofBroken(delta))
    const outcome = copy.take(delta, { since, results })
    if (outcome?.reset) return this.#reset(outcome.reset, discontinuous(outcome.reset))
    this.#resets.continued()
    if (outcome) this.taken(outcome)
    const changes = outcome ? outcome.changes().length + outcome.unloadedOps.length : 0
    return { kind: 'delta', sid: copy.position?.confirmed ?? delta.sid, changes }
  }

  /** A bootstrap for what is missing, behind the delta of `result`: where it fails, that one is what came of it. */
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

  /** `repairedAt`: when it was begun, if it is for what is missing. */
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
    const load = () => download(transport, copy, signal, (progress) => listener.progress(progress))
    let loaded = await load()
    if (!isComplete(loaded)) {
      await loaded.pages.abort()
      loaded = await load()
    }
    const { head, rows, broken } = loaded
    reporter.anomalies(ofBroken({ kind: 'row', broken, sid: head.sid }))
    if (!isComplete(loaded)) reporter.anomalies([ofCount(head.count, rows + broken.length, head.sid)])
    // What the disk did not take, though it was to be there alone, has to come again.
    const repair = { at: repairedAt ?? this.#resets.repairedAt }
    if (!(await copy.replace(loaded, results, repair))) return this.#replace(signal, repairedAt)
    this.#resets.made(head.sid, repairedAt)
    this.#refusals = noRefusals
    if (reason) listener.reset({ reason, since: position?.shown ?? 0 })
    return { kind: 'bootstrap', sid: head.sid, changes: rows }
  }

  /** What a delta's failure asks for: a bootstrap, or, where that cannot help, to try again later. */
  #afterFailure(error: unknown): undefined {
    const failure = failureOf(error)
    if (failure.kind === 'reset') return this.#reset('gone', error)
    if (failure.kind !== 'refused') throw error
    const { status, count } = this.#refusals
    this.#refusals = { status: failure.status, count: failure.status === status ? count + 1 : 1 }
    if (this.#refusals.count < maxRefusals) throw error
    return this.#reset('refused', error)
  }

  #reset(reason: ResetReason, error: unknown): undefined {
    if (!this.#resets.reset(reason)) throw error
  }
}

const noRefusals = { status: 0, count: 0 }

function discontinuous(reason: ResetReason): ProtocolError {
  return new ProtocolError(
    'discontinuous',
    `The server's delta does not continue its own snapshot (${reason}).`,
  )
}
