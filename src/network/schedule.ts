import { backoffMs } from '../base/backoff.ts'
import type { Environment } from '../base/environment.ts'
import { NetworkError, type SyncError, toSyncError } from '../base/errors.ts'
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
  /** What is to be done, once at a time. */
  readonly run: (signal: AbortSignal, asked: boolean) => Promise<Result>
  /** Whether `result` shows that client and server can go on together: only that ends a row of failures. */
  readonly proves: (result: Result) => boolean
  /** The least time to wait after `error`, in ms. @default what the server asked for; after a refusal, other credentials */
  readonly floorMs?: (error: SyncError) => number | undefined
  readonly onFailure: (error: SyncError) => void
  /** `phase`, `failure` or `retryAt` may be another. */
  readonly onChange: () => void
}

/** A server that asks for longer is asked again after this. */
const maxFloorMs = 3_600_000

interface Flight<Result> {
  readonly abort: AbortController
  readonly result: Promise<Result>
}

/** Runs the phases: does what they call for, fetching or sending, one at a time, and waits between those that fail. */
export class Schedule<Result> {
  readonly #options: ScheduleOptions<Result>
  readonly #machine: Machine<ScheduleState, ScheduleEvent, ScheduleEffect>
  readonly #retry: Timer
  #flight: Flight<Result> | undefined
  #failure: SyncError | undefined

  constructor(options: ScheduleOptions<Result>) {
    this.#options = options
    this.#machine = new Machine<ScheduleState, ScheduleEvent, ScheduleEffect>(
      { name: 'halted' },
      nextScheduleState,
      (effect) => this.#perform(effect),
    )
    this.#retry = new Timer(options.environment.clock, () => this.#dispatch({ type: 'due' }))
  }

  get phase(): ScheduleState['name'] {
    return this.#machine.state.name
  }

  /** Why the last one failed; `undefined` once one has succeeded. */
  get failure(): SyncError | undefined {
    return this.#failure
  }

  /** How many have failed in a row. */
  get failures(): number {
    const { state } = this.#machine
    return 'failures' in state ? state.failures : 0
  }

  /** When it is tried again, in ms since the epoch, while that is waited for. */
  get retryAt(): number | undefined {
    return this.phase === 'waiting' ? this.#retry.at : undefined
  }

  /** Tells what may call for one. */
  tell(type: 'start' | 'want' | 'hurry' | 'resume' | 'renew'): void {
    // Timers stand still while a machine sleeps.
    if (type === 'hurry' && this.#retry.at <= this.#options.environment.clock.now()) this.#retry.set(0)
    this.#dispatch({ type })
  }

  /** Once, in any phase: what is under way, or anew. Not tried again if it fails. */
  ask(): Promise<Result> {
    this.#dispatch({ type: 'ask' })
    return this.#flight?.result ?? Promise.reject(stopped())
  }

  /** Resolves once nothing is under way. */
  async stop(): Promise<void> {
    const flight = this.#flight
    this.#failure = undefined
    this.#dispatch({ type: 'stop' })
    await flight?.result.catch(() => {})
  }

  #dispatch(event: ScheduleEvent): void {
    this.#machine.dispatch(event)
    this.#options.onChange()
  }

  #perform(effect: ScheduleEffect): void {
    switch (effect.type) {
      case 'fetch':
        this.#launch(effect.asked)
        break
      case 'abort':
        this.#flight?.abort.abort(stopped())
        break
      case 'wait': {
        const { failures, floorMs } = effect
        // Clients that were given the same floor do not come back together either.
        this.#retry.set(floorMs + backoffMs(failures, this.#options.environment.random.number()))
        break
      }
      case 'unwait':
        this.#retry.clear()
    }
  }

  #launch(asked: boolean): void {
    const abort = new AbortController()
    // One that was ended may still be about to put in place what came.
    const result = this.#fly(abort.signal, asked, this.#flight?.result)
    // Whoever asked for it has the promise; a fetch that nobody asked for fails into the status alone.
    result.catch(() => {})
    this.#flight = { abort, result }
  }

  async #fly(signal: AbortSignal, asked: boolean, before: Promise<unknown> | undefined): Promise<Result> {
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
    this.#dispatch({ type: 'done', proven: this.#options.proves(result) })
  }

  #fail(error: SyncError): void {
    this.#failure = error
    const failure = failureOf(error)
    const asked = failure.kind === 'other' ? failure.retryAfterMs : undefined
    const floorMs = this.#options.floorMs?.(error) ?? asked
    if (floorMs === undefined && failure.kind === 'unauthenticated') this.#dispatch({ type: 'refused' })
    else this.#dispatch({ type: 'failed', floorMs: Math.min(floorMs ?? 0, maxFloorMs) })
    this.#options.onFailure(error)
  }
}

function stopped(): NetworkError {
  return new NetworkError('stopped', 'The client was stopped before the server answered.')
}
