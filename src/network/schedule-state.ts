import { type Step, type TransitionTable, transitionOf } from '../base/machine.ts'

/**
 * Decides when to fetch: one fetch at a time; a growing wait after failures; a pause after a 401. Does not know what is
 * fetched, nor how.
 */
export type ScheduleState =
  /** Not running. An explicitly requested fetch still runs, and is not tried again. */
  | { readonly name: 'halted' }
  | { readonly name: 'asked' }
  | { readonly name: 'resting'; readonly failures: number }
  /**
   * `again`: another fetch is wanted that begins after this one. `resumed`: the credentials have changed since it
   * began, so a refusal does not apply to them.
   */
  | {
      readonly name: 'fetching'
      readonly failures: number
      readonly again: boolean
      readonly resumed: boolean
    }
  /** `floored`: the server has set the wait, so only an explicit request ends it. */
  | { readonly name: 'waiting'; readonly failures: number; readonly floored: boolean }
  | { readonly name: 'paused'; readonly failures: number }

export type ScheduleEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  /** Something may have changed. Does not end a wait. */
  | { readonly type: 'want' }
  /** As `want`, and ends a wait: the network is back, or the page is visible. */
  | { readonly type: 'hurry' }
  /** An explicit request: fetches in any state. */
  | { readonly type: 'ask' }
  /** The credentials may be valid again. */
  | { readonly type: 'resume' }
  /** As `resume`, in response to a refusal. The new credentials may be refused as well, so a wait is kept. */
  | { readonly type: 'renew' }
  /** The wait is over. */
  | { readonly type: 'due' }
  /** `proven`: client and server agree; only then does a row of failures end. */
  | { readonly type: 'done'; readonly proven: boolean }
  | { readonly type: 'failed'; readonly floorMs: number }
  /** `wasUnreached`: the server could not be reached before, so this is the first refusal. */
  | { readonly type: 'refused'; readonly wasUnreached: boolean }

export type ScheduleEffect =
  /** `asked`: explicitly requested. */
  | { readonly type: 'fetch'; readonly asked: boolean }
  | { readonly type: 'abort' }
  | { readonly type: 'wait'; readonly failures: number; readonly floorMs: number }
  | { readonly type: 'unwait' }

type ScheduleStep = Step<ScheduleState, ScheduleEffect>

const none: readonly ScheduleEffect[] = []
const stay = (state: ScheduleState): ScheduleStep => ({ state, effects: none })
const fetching = (failures: number): ScheduleState => ({
  name: 'fetching',
  failures,
  again: false,
  resumed: false,
})
const fetch = (failures: number, ...before: ScheduleEffect[]): ScheduleStep => ({
  state: fetching(failures),
  effects: [...before, { type: 'fetch', asked: false }],
})
const fetchAsked = (state: ScheduleState, ...before: ScheduleEffect[]): ScheduleStep => ({
  state,
  effects: [...before, { type: 'fetch', asked: true }],
})
/** Fetches with changed credentials: at once after the first refusal, otherwise after a wait. */
const fetchWithNewCredentials = ({ failures }: { readonly failures: number }): ScheduleStep =>
  failures < 2
    ? fetch(failures)
    : {
        state: { name: 'waiting', failures, floored: false },
        effects: [{ type: 'wait', failures, floorMs: 0 }],
      }
const onceMore = (state: Extract<ScheduleState, { name: 'fetching' }>): ScheduleStep =>
  stay(state.again ? state : { ...state, again: true })
const resumed = (state: Extract<ScheduleState, { name: 'fetching' }>): ScheduleStep =>
  stay(state.resumed ? state : { ...state, resumed: true })
const halt = (...effects: ScheduleEffect[]): ScheduleStep => ({ state: { name: 'halted' }, effects })

const table: TransitionTable<ScheduleState, ScheduleEvent, ScheduleEffect> = {
  halted: {
    start: () => fetch(0),
    ask: () => fetchAsked({ name: 'asked' }),
  },
  asked: {
    start: () => stay(fetching(0)),
    stop: () => halt({ type: 'abort' }),
    done: () => halt(),
    failed: () => halt(),
    refused: () => halt(),
  },
  resting: {
    stop: () => halt(),
    want: ({ failures }) => fetch(failures),
    hurry: ({ failures }) => fetch(failures),
    ask: ({ failures }) => fetchAsked(fetching(failures)),
  },
  fetching: {
    stop: () => halt({ type: 'abort' }),
    want: onceMore,
    hurry: onceMore,
    resume: resumed,
    renew: resumed,
    done: ({ failures, again }, { proven }) => {
      const remaining = proven ? 0 : failures
      return again ? fetch(remaining) : stay({ name: 'resting', failures: remaining })
    },
    failed: ({ failures }, { floorMs }) => ({
      state: { name: 'waiting', failures: failures + 1, floored: floorMs > 0 },
      effects: [{ type: 'wait', failures: failures + 1, floorMs }],
    }),
    refused: ({ failures: former, resumed }, { wasUnreached }) => {
      const failures = wasUnreached ? 1 : former + 1
      return resumed ? fetchWithNewCredentials({ failures }) : stay({ name: 'paused', failures })
    },
  },
  waiting: {
    stop: () => halt({ type: 'unwait' }),
    hurry: (state) => (state.floored ? stay(state) : fetch(state.failures, { type: 'unwait' })),
    ask: ({ failures }) => fetchAsked(fetching(failures), { type: 'unwait' }),
    resume: ({ failures }) => fetch(failures, { type: 'unwait' }),
    due: ({ failures }) => fetch(failures),
  },
  paused: {
    stop: () => halt(),
    ask: ({ failures }) => fetchAsked(fetching(failures)),
    resume: fetchWithNewCredentials,
    renew: fetchWithNewCredentials,
  },
}

export const nextScheduleState = transitionOf(table)
