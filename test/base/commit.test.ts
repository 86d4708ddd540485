import { expect, test } from 'vitest'
import { Commit } from '../../src/base/commit.ts'

/** A value that listeners hear of; `derived` is computed from the value. */
function setUp() {
  const state = { value: 0, derived: 0 }
  const listeners: (() => void)[] = []
  const loops: number[] = []
  const log: string[] = []
  const commit = new Commit({
    update: () => {
      state.derived = 2 * state.value
    },
    notify: () => {
      log.push(`${state.value}:${state.derived}`)
      for (const listener of listeners) listener()
    },
    onLoop: () => loops.push(state.value),
  })
  return { state, listeners, loops, log, commit }
}

test('a change that a listener makes can be read at once, and is notified after all listeners know of the first', () => {
  const { state, listeners, log, commit } = setUp()
  listeners.push(() => {
    if (state.value !== 1) return
    state.value = 5
    commit.now()
    log.push(`reads ${state.derived}`)
  })
  listeners.push(() => log.push('second'))
  state.value = 1
  commit.now()
  expect(log).toEqual(['1:2', 'reads 10', 'second', '5:10', 'second'])
})

test('listeners that change what they listen to are stopped after 100 rounds, and called again at the next change', () => {
  const { state, listeners, loops, log, commit } = setUp()
  let isLooping = true
  listeners.push(() => {
    if (!isLooping) return
    state.value += 1
    commit.now()
  })
  commit.now()
  expect(loops).toEqual([100])
  isLooping = false
  commit.now()
  expect(log.at(-1)).toBe('100:200')
})
