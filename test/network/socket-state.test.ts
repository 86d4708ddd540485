import { describe, expect, test } from 'vitest'
import {
  type SocketEvent,
  type SocketMachineState,
  socketTransition,
} from '../../src/network/socket-state.ts'

const now = 1_000_000

const states: Record<string, SocketMachineState> = {
  off: { name: 'off' },
  opening: { name: 'opening', failures: 2 },
  open: { name: 'open', failures: 0, offline: false },
  'open, not proved': { name: 'open', failures: 2, offline: false },
  'open, offline': { name: 'open', failures: 0, offline: true },
  waiting: { name: 'waiting', failures: 2, retryAt: now },
}

const events: Record<string, SocketEvent> = {
  start: { type: 'start' },
  stop: { type: 'stop' },
  renew: { type: 'renew' },
  opened: { type: 'opened' },
  proved: { type: 'proved' },
  lost: { type: 'lost', code: 1006, now, random: 0.5 },
  retry: { type: 'retry' },
  online: { type: 'online' },
  offline: { type: 'offline' },
  visible: { type: 'visible', overdue: false },
  'visible, overdue': { type: 'visible', overdue: true },
}

/** Every pair of state and event that changes something, and what it does. All others change nothing. */
const changes: Record<string, readonly [next: SocketMachineState, ...effects: string[]]> = {
  'off: start': [{ name: 'opening', failures: 0 }, 'connect'],
  'opening: stop': [{ name: 'off' }, 'rest'],
  'opening: opened': [{ name: 'open', failures: 2, offline: false }, 'tell opened'],
  'opening: lost': [{ name: 'waiting', failures: 3, retryAt: now + 1_000 }, 'wait', 'tell lost'],
  'open: stop': [{ name: 'off' }, 'rest'],
  'open: renew': [{ name: 'opening', failures: 0 }, 'connect', 'tell lost'],
  'open: lost': [{ name: 'waiting', failures: 1, retryAt: now + 2_000 }, 'wait', 'tell lost'],
  'open: offline': [{ name: 'open', failures: 0, offline: true }],
  'open: visible, overdue': [{ name: 'opening', failures: 0 }, 'connect', 'tell lost'],
  'open, not proved: stop': [{ name: 'off' }, 'rest'],
  'open, not proved: renew': [{ name: 'opening', failures: 2 }, 'connect', 'tell lost'],
  'open, not proved: proved': [{ name: 'open', failures: 0, offline: false }],
  'open, not proved: lost': [{ name: 'waiting', failures: 3, retryAt: now + 8_000 }, 'wait', 'tell lost'],
  'open, not proved: offline': [{ name: 'open', failures: 2, offline: true }],
  'open, not proved: visible, overdue': [{ name: 'opening', failures: 2 }, 'connect', 'tell lost'],
  'open, offline: stop': [{ name: 'off' }, 'rest'],
  'open, offline: renew': [{ name: 'opening', failures: 0 }, 'connect', 'tell lost'],
  'open, offline: lost': [{ name: 'waiting', failures: 1, retryAt: now + 2_000 }, 'wait', 'tell lost'],
  'open, offline: online': [{ name: 'opening', failures: 0 }, 'connect', 'tell lost'],
  'open, offline: visible, overdue': [{ name: 'opening', failures: 0 }, 'connect', 'tell lost'],
  'waiting: stop': [{ name: 'off' }, 'rest'],
  'waiting: retry': [{ name: 'opening', failures: 2 }, 'connect'],
  'waiting: online': [{ name: 'opening', failures: 2 }, 'connect'],
  'waiting: visible': [{ name: 'opening', failures: 2 }, 'connect'],
  'waiting: visible, overdue': [{ name: 'opening', failures: 2 }, 'connect'],
}

const pairs = Object.entries(states).flatMap(([stateName, state]) =>
  Object.entries(events).map(([eventName, event]) => ({ name: `${stateName}: ${eventName}`, state, event })),
)

describe('a socket', () => {
  test.each(pairs)('$name', ({ name, state, event }) => {
    const step = socketTransition(state, event)
    const change = changes[name]
    if (change) {
      const [next, ...effects] = change
      expect(step.state).toEqual(next)
      expect(step.effects.map(({ type }) => type)).toEqual(effects)
    } else {
      expect(step.state).toBe(state)
      expect(step.effects).toEqual([])
    }
  })

  test('waits longer with each failure, up to the cap, and jitters after it', () => {
    const wait = (failures: number, random: number) => {
      const { state } = socketTransition(
        { name: 'opening', failures },
        { type: 'lost', code: 0, now, random },
      )
      return state.name === 'waiting' ? state.retryAt - now : undefined
    }
    expect([0, 1, 2, 9, 90].map((failures) => wait(failures, 0.5))).toEqual([250, 500, 1_000, 15_000, 15_000])
    expect([0, 0.1, 0.99].map((random) => wait(90, random))).toEqual([0, 3_000, 29_700])
  })
})
