import { type Step, type TransitionTable, transitionOf } from '../base/machine.ts'

/**
 * When to fetch: one fetch at a time, whoever wants it; after a failure a wait that grows; after a 401 a pause. What
 * is fetched, and how, is none of its business.
 */
export type ScheduleState =
  /** Not running. A fetch that was asked for by name still happens, and is not tried again. */
  | { readonly name: 'halted' }
  | { readonly name: 'asked' }
  | { readonly name: 'resting'; readonly failures: number }
  /**
   * `again`: somebody wanted a fetch that begins later than this one. `resumed`: there have been other credentials since
   * it began, so that a refusal says nothing about them.
   */
  | {
      readonly name: 'fetching'
      readonly failures: number
      readonly again: boolean
      readonly resumed: boolean
    }
  /** `floored`: the server said how long, so only a call by name ends it. */
  | { readonly name: 'waiting'; readonly failures: number; readonly floored: boolean }
  | { readonly name: 'paused'; readonly failures: number }

export type ScheduleEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  /** Something may have changed. A wait is kept. */
  | { readonly type: 'want' }
  /** The same, and trying makes sense at once: the network came back, somebody looks. */
  | { readonly type: 'hurry' }
  /** Asked for by name: tried in any phase. */
  | { readonly type: 'ask' }
  /** Credentials may be right again. */
  | { readonly type: 'resume' }
  /** The same in answer to a refusal: they may be refused as well, so a wait is kept. */
  | { readonly type: 'renew' }
  /** The wait is over. */
  | { readonly type: 'due' }
  /** `proven`: the server and this client agree; only that ends a row of failures. */
  | { readonly type: 'done'; readonly proven: boolean }
  | { readonly type: 'failed'; readonly floorMs: number }
  | { readonly type: 'refused' }

export type ScheduleEffect =
  /** `asked`: by name, not by this machine. */
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
/** With other credentials: at once where the last ones were the first to be refused. */
const again = ({ failures }: { readonly failures: number }): ScheduleStep =>
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
      const left = proven ? 0 : failures
      return again ? fetch(left) : stay({ name: 'resting', failures: left })
    },
    failed: ({ failures }, { floorMs }) => ({
      state: { name: 'waiting', failures: failures + 1, floored: floorMs > 0 },
      effects: [{ type: 'wait', failures: failures + 1, floorMs }],
    }),
    refused: ({ failures, resumed }) =>
      resumed ? again({ failures: failures + 1 }) : stay({ name: 'paused', failures: failures + 1 }),
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
    resume: again,
    renew: again,
  },
}

export const nextScheduleState = transitionOf(table)
