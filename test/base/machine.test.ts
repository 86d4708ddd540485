import { expect, test } from 'vitest'
import { Machine, transitionOf } from '../../src/base/machine.ts'

type State = { readonly name: 'red' } | { readonly name: 'green'; readonly cars: number }
type Event = { readonly type: 'switch' } | { readonly type: 'car'; readonly weight: number }

const transition = transitionOf<State, Event, string>({
  red: {
    switch: () => ({ state: { name: 'green', cars: 0 }, effects: ['go', 'look'] }),
  },
  green: {
    switch: () => ({ state: { name: 'red' }, effects: ['stop'] }),
    car: (state, { weight }) => ({ state: { ...state, cars: state.cars + weight }, effects: ['count'] }),
  },
})

test('a transition is the cell of the state and the event', () => {
  expect(transition({ name: 'green', cars: 1 }, { type: 'car', weight: 2 })).toEqual({
    state: { name: 'green', cars: 3 },
    effects: ['count'],
  })
})

test('an event that a state does not name changes nothing', () => {
  const red: State = { name: 'red' }
  const { state, effects } = transition(red, { type: 'car', weight: 2 })
  expect(state).toBe(red)
  expect(effects).toEqual([])
})

test('events raised by an effect are handled after the effects of the present one', () => {
  const log: string[] = []
  const machine = new Machine<State, Event, string>({ name: 'red' }, transition, (effect) => {
    log.push(`${effect} in ${machine.state.name}`)
    if (effect === 'go') {
      machine.dispatch({ type: 'car', weight: 1 })
      machine.dispatch({ type: 'switch' })
    }
  })
  machine.dispatch({ type: 'switch' })
  expect(log).toEqual(['go in green', 'look in green', 'count in green', 'stop in red'])
})

test('an effect that throws reaches the caller, and the machine goes on with the next event', () => {
  const log: string[] = []
  const machine = new Machine<State, Event, string>({ name: 'red' }, transition, (effect) => {
    if (effect === 'go') throw new Error('mine')
    log.push(effect)
  })
  expect(() => machine.dispatch({ type: 'switch' })).toThrow('mine')
  expect(machine.state.name).toBe('green')
  machine.dispatch({ type: 'switch' })
  expect([machine.state.name, log]).toEqual(['red', ['stop']])
})
