import { backoffMs } from '../base/backoff.ts'
import type { Environment } from '../base/environment.ts'
import { isSyncError, NetworkError, type SyncError, toSyncError } from '../base/errors.ts'
import type { Debug } from '../base/logger.ts'
import { Machine } from '../base/machine.ts'
import { Timer } from '../base/timer.ts'
import { failureOf } from './failure.ts'
import {
  nextScheduleState,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleState,
} from './schedule-state.ts'

export interface ScheduleOptions<Result> {
  readonly environment: Pick<Environment, 'clock' | 'random'>
  /** The name of the work in the debug log. */
  readonly name?: string
  readonly debug?: Debug
  /**
   * Does the work, such as fetching or sending. Never called while a call is running. `asked`: explicitly requested.
   */
  readonly run: (signal: AbortSignal, asked: boolean) => Promise<Result>
  /** Whether `result` proves that client and server agree; only then does a row of failures end. */
  readonly proves: (result: Result) => boolean
  /**
   * The minimum wait after `error`, in ms. @default the wait that the server asked for; after a 401, a change of
   * credentials
   */
  readonly floorMs?: (error: SyncError) => number | undefined
  readonly onFailure: (error: SyncError) => void
  /** Called when `phase`, `failure` or `retryAt` may have changed. */
  readonly onChange: () => void
}

/** Starts a schedule, or may call for a run: see {@link ScheduleEvent}. */
export type ScheduleSignal = 'start' | 'want' | 'hurry' | 'resume' | 'renew'

/** The longest wait that a server can ask for, in ms. */
const maxFloorMs = 3_600_000

interface Run<Result> {
  readonly abort: AbortController
  readonly result: Promise<Result>
}

/** Runs the work of a schedule, one call at a time, and waits after failures. */
export class Schedule<Result> {
  readonly #options: ScheduleOptions<Result>
  readonly #machine: Machine<ScheduleState, ScheduleEvent, ScheduleEffect>
  readonly #retry: Timer
  #current: Run<Result> | undefined
  #failure: SyncError | undefined

  constructor(options: ScheduleOptions<Result>) {
    this.#options = options
    this.#machine = new Machine<ScheduleState, ScheduleEvent, ScheduleEffect>(
      { name: 'halted' },
      nextScheduleState,
      (effect) => this.#perform(effect),
      options.name,
      options.debug,
    )
    this.#retry = new Timer(options.environment.clock, () => this.#handle({ type: 'due' }))
  }

  get phase(): ScheduleState['name'] {
    return this.#machine.state.name
  }

  /** Whether the schedule was started, and not stopped since. */
  get isStarted(): boolean {
    return this.phase !== 'halted' && this.phase !== 'asked'
  }

  /** The error of the last run; `undefined` after a success. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** The number of failures in a row. */
  get failures(): number {
    const { state } = this.#machine
    return 'failures' in state ? state.failures : 0
  }

  /** The time of the next try, in ms since the epoch; `undefined` unless the schedule is waiting. */
  get retryAt(): number | undefined {
    return this.phase === 'waiting' ? this.#retry.at : undefined
  }

  dispatch(type: ScheduleSignal): void {
    // Timers stop while a machine sleeps, so a wait may be over before its timer fires.
    if (type === 'hurry' && this.#retry.at <= this.#options.environment.clock.now()) this.#retry.set(0)
    this.#handle({ type })
  }

  /** Resolves with the result of the current run, or of a new one. Runs in any phase. A failure is not tried again. */
  ask(): Promise<Result> {
    this.#handle({ type: 'ask' })
    return this.#current?.result ?? Promise.reject(stopped())
  }

  /** Stops the schedule. Resolves once no run is left. */
  async stop(): Promise<void> {
    const current = this.#current
    this.#failure = undefined
    this.#handle({ type: 'stop' })
    await current?.result.catch(() => {})
  }

  #handle(event: ScheduleEvent): void {
    this.#machine.dispatch(event)
    this.#options.onChange()
  }

  #perform(effect: ScheduleEffect): void {
    switch (effect.type) {
      case 'fetch':
        this.#start(effect.asked)
        break
      case 'abort':
        this.#current?.abort.abort(stopped())
        break
      case 'wait': {
        const { failures, floorMs } = effect
        // The random part keeps clients apart that got the same minimum wait.
        this.#retry.set(floorMs + backoffMs(failures, this.#options.environment.random.number()))
        break
      }
      case 'unwait':
        this.#retry.clear()
    }
  }

  #start(asked: boolean): void {
    const abort = new AbortController()
    // An aborted run may still be storing its result: wait for its end.
    const result = this.#run(abort.signal, asked, this.#current?.result)
    // A caller of `ask` has the promise. A failure that nobody awaits appears in the status only.
    result.catch(() => {})
    this.#current = { abort, result }
  }

  async #run(signal: AbortSignal, asked: boolean, before: Promise<unknown> | undefined): Promise<Result> {
    try {
      await before?.catch(() => {})
      signal.throwIfAborted()
      const result = await this.#options.run(signal, asked)
      if (!signal.aborted) this.#succeed(result)
      return result
    } catch (thrown) {
      const error = toSyncError(thrown)
      if (!signal.aborted) this.#fail(error)
      throw error
    }
  }

  #succeed(result: Result): void {
    this.#failure = undefined
    this.#handle({ type: 'done', proven: this.#options.proves(result) })
  }

  #fail(error: SyncError): void {
    const wasUnreached = isSyncError(this.#failure, 'NetworkError')
    this.#failure = error
    const failure = failureOf(error)
    const asked = failure.kind === 'other' ? failure.retryAfterMs : undefined
    const floorMs = this.#options.floorMs?.(error) ?? asked
    if (floorMs === undefined && failure.kind === 'unauthenticated')
      this.#handle({ type: 'refused', wasUnreached })
    else this.#handle({ type: 'failed', floorMs: Math.min(floorMs ?? 0, maxFloorMs) })
    this.#options.onFailure(error)
  }
}

function stopped(): NetworkError {
  return new NetworkError('stopped', 'The client was stopped before the server answered.')
}
