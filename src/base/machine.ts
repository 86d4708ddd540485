import type { Debug } from './logger.ts'

/**
 * A pure function: the next state and the effects of an event in a state. If nothing changes, it returns the same state
 * object.
 */
export type Transition<State, Event, Effect> = (state: State, event: Event) => Step<State, Effect>

export interface Step<State, Effect> {
  readonly state: State
  readonly effects: readonly Effect[]
}

/** The step for each event in each state. An event that is missing in a state changes nothing. */
export type TransitionTable<
  State extends { readonly name: string },
  Event extends { readonly type: string },
  Effect,
> = {
  readonly [S in State['name']]: {
    readonly [E in Event['type']]?: (
      state: Extract<State, { name: S }>,
      event: Extract<Event, { type: E }>,
    ) => Step<State, Effect>
  }
}

export function transitionOf<
  State extends { readonly name: string },
  Event extends { readonly type: string },
  Effect,
>(table: TransitionTable<State, Event, Effect>): Transition<State, Event, Effect> {
  return (state, event) => {
    const row = table[state.name as State['name']]
    const cell = row[event.type as Event['type']] as Transition<State, Event, Effect> | undefined
    return cell?.(state, event) ?? { state, effects: [] }
  }
}

/**
 * Holds the state of a machine and performs its effects. An event that is dispatched while another one is being handled
 * is handled afterwards, in order.
 */
export class Machine<
  State extends { readonly name: string },
  Event extends { readonly type: string },
  Effect,
> {
  #state: State
  readonly #transition: Transition<State, Event, Effect>
  readonly #perform: (effect: Effect) => void
  readonly #name: string
  readonly #debug: Debug | undefined
  readonly #queue: Event[] = []
  #isRunning = false

  /** `debug` gets one line for each event, which begins with `name`. */
  constructor(
    initial: State,
    transition: Transition<State, Event, Effect>,
    perform: (effect: Effect) => void,
    name = '',
    debug?: Debug,
  ) {
    this.#state = initial
    this.#transition = transition
    this.#perform = perform
    this.#name = name
    this.#debug = debug
  }

  get state(): State {
    return this.#state
  }

  dispatch(event: Event): void {
    this.#queue.push(event)
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const { state, effects } = this.#transition(this.#state, next)
        this.#state = state
        this.#debug?.(`${this.#name}: ${next.type} → ${state.name}`, { state, effects })
        for (const effect of effects) this.#perform(effect)
      }
    } finally {
      this.#isRunning = false
    }
  }
}
