import { backoffMs, defaultBackoff } from '../base/backoff.ts'
import { type Step, type TransitionTable, transitionOf } from '../base/machine.ts'

export type SocketState =
  /** Not started, or the runtime cannot open a socket with these credentials: the client polls. */
  | { readonly name: 'off' }
  | { readonly name: 'opening'; readonly failures: number }
  | { readonly name: 'open' }
  | { readonly name: 'waiting'; readonly failures: number; readonly retryAt: number }

export type SocketMachineState =
  | Exclude<SocketState, { name: 'open' }>
  /**
   * `failures` are kept until the socket has been open for a while. `offline`: the environment has reported to be
   * offline since the socket opened. `since`: when it opened, in ms since the epoch.
   */
  | { readonly name: 'open'; readonly failures: number; readonly offline: boolean; readonly since: number }

export type SocketEvent =
  | { readonly type: 'start' }
  | { readonly type: 'stop' }
  | { readonly type: 'renew' }
  | { readonly type: 'opened'; readonly now: number }
  /** The socket has been open for a while. */
  | { readonly type: 'proved' }
  /** The socket closed, was silent, or did not open. `now`: in ms since the epoch. `random`: in [0, 1). */
  | { readonly type: 'lost'; readonly code: number; readonly now: number; readonly random: number }
  | { readonly type: 'retry' }
  | { readonly type: 'online' }
  | { readonly type: 'offline' }
  /** `overdue`: a heartbeat is overdue. */
  | { readonly type: 'visible'; readonly overdue: boolean | undefined }

/** `connect`, `wait` and `rest` each end the current socket or wait. */
export type SocketEffect =
  | { readonly type: 'connect' }
  | { readonly type: 'wait'; readonly until: number }
  | { readonly type: 'rest' }
  | { readonly type: 'report opened' }
  | { readonly type: 'report lost'; readonly wasOpen: boolean; readonly code: number }

/**
 * The backoff after losing an open socket. A server that restarts loses all clients at once; a longer wait spreads
 * their return.
 */
const lossBackoff = { ...defaultBackoff, baseMs: 4_000 }

/** The close code for credentials that are not valid any more. */
export const unauthenticated = 4401

/**
 * If a socket was open for this time, in ms, the end of its credentials is no failure. A server that greets and refuses
 * each time must not be asked without a wait.
 */
const minOpenMs = 1_000

type SocketStep = Step<SocketMachineState, SocketEffect>

const table: TransitionTable<SocketMachineState, SocketEvent, SocketEffect> = {
  off: {
    start: () => connect(0),
  },
  opening: {
    stop: rest,
    opened: ({ failures }, { now }) => ({
      state: { name: 'open', failures, offline: false, since: now },
      effects: [{ type: 'report opened' }],
    }),
    lost: wait,
  },
  open: {
    stop: rest,
    renew,
    proved: (state) => stay(state.failures === 0 ? state : { ...state, failures: 0 }),
    lost: (state, event) =>
      event.code === unauthenticated && event.now - state.since >= minOpenMs
        ? reopen(state, event)
        : wait(state, event),
    online: (state) => (state.offline ? renew(state) : stay(state)),
    offline: (state) => stay(state.offline ? state : { ...state, offline: true }),
    visible: (state, { overdue }) => (overdue ? renew(state) : stay(state)),
  },
  waiting: {
    stop: rest,
    retry: ({ failures }) => connect(failures),
    online: ({ failures }) => connect(failures),
    visible: ({ failures }) => connect(failures),
  },
}

export const socketTransition = transitionOf(table)

function stay(state: SocketMachineState): SocketStep {
  return { state, effects: [] }
}

function wait(
  { name, failures }: { readonly name: 'opening' | 'open'; readonly failures: number },
  { code, now, random }: Extract<SocketEvent, { type: 'lost' }>,
): SocketStep {
  const wasOpen = name === 'open'
  const retryAt = now + backoffMs(failures + 1, random, wasOpen ? lossBackoff : defaultBackoff)
  return {
    state: { name: 'waiting', failures: failures + 1, retryAt },
    effects: [
      { type: 'wait', until: retryAt },
      { type: 'report lost', wasOpen, code },
    ],
  }
}

function rest(): SocketStep {
  return { state: { name: 'off' }, effects: [{ type: 'rest' }] }
}

function connect(failures: number): SocketStep {
  return { state: { name: 'opening', failures }, effects: [{ type: 'connect' }] }
}

function reopen(
  { failures }: { readonly failures: number },
  { code }: { readonly code: number },
): SocketStep {
  return {
    state: { name: 'opening', failures },
    effects: [{ type: 'connect' }, { type: 'report lost', wasOpen: true, code }],
  }
}

function renew(state: { readonly failures: number }): SocketStep {
  return reopen(state, { code: 0 })
}
