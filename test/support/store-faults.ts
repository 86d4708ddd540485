import { StorageError } from '../../src/base/errors.ts'
import type { Store } from '../../src/storage/store.ts'
import { type Step, withSteps } from './store-steps.ts'

/**
 * - `throw`: the step fails.
 * - `full`: it fails for want of room.
 * - `abort`: the engine aborts the transaction.
 * - `hang`: the step never ends.
 * - `crash`: the process is gone; nothing that it awaits ever settles, and only complete transactions remain.
 */
export type Fault = 'throw' | 'full' | 'abort' | 'hang' | 'crash'

export const faults: readonly Fault[] = ['throw', 'full', 'abort', 'hang', 'crash']

const never = () => new Promise<never>(() => {})

/** A store of which one step, by number, goes wrong. */
export class FaultyStore {
  readonly store: Store
  /** How many steps there were since it was armed. */
  steps = 0
  /** Resolves when it crashed. */
  readonly crashed: Promise<void>
  readonly #underWay = new Set<() => void>()
  #fault: { readonly at: number; readonly fault: Fault } | undefined
  #dead = false
  #tellCrashed = () => {}

  constructor(inner: Store) {
    this.crashed = new Promise((resolve) => {
      this.#tellCrashed = resolve
    })
    this.store = withSteps(inner, {
      awaited: (step) => this.#awaited(step),
      immediate: (step) => this.#immediate(step),
    })
  }

  /** Lets the step number `at` from now on, from 0, go wrong. */
  arm(at: number, fault: Fault): void {
    this.steps = 0
    this.#fault = { at, fault }
  }

  disarm(): void {
    this.#fault = undefined
  }

  /** Whether the step that was armed has come. */
  get struck(): boolean {
    return this.#fault !== undefined && this.steps > this.#fault.at
  }

  #awaited(step: Step): Promise<void> | undefined {
    this.#follow(step)
    if (this.#dead) return never()
    const fault = this.#next()
    failAt(fault)
    if (fault === 'abort') step.abort?.()
    if (fault === 'crash') this.crash()
    return fault === 'hang' || fault === 'crash' ? never() : undefined
  }

  #immediate(step: Step): void {
    const fault = this.#dead ? undefined : this.#next()
    failAt(fault)
    if (fault === 'abort') step.abort?.()
    if (fault === 'crash') this.crash()
    // What cannot wait cannot hang: the next step does.
    if (fault === 'hang') this.#fault = { at: this.steps, fault }
  }

  #next(): Fault | undefined {
    const { at, fault } = this.#fault ?? { at: -1 }
    this.steps += 1
    return at === this.steps - 1 ? fault : undefined
  }

  #follow({ name, abort }: Step): void {
    if (!abort) return
    if (name === 'begin') this.#underWay.add(abort)
    if (name === 'complete') this.#underWay.delete(abort)
  }

  /** Ends the process now. */
  crash(): void {
    this.#dead = true
    for (const abort of this.#underWay) abort()
    this.#tellCrashed()
  }
}

function failAt(fault: Fault | undefined): void {
  if (fault === 'throw') throw new StorageError('aborted', 'A fault on purpose.')
  if (fault === 'full') throw new StorageError('quota', 'No room, on purpose.')
}
