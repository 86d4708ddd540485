import { expect, test, vi } from 'vitest'
import { Emitter } from '../../src/base/emitter.ts'

interface Events {
  change: number
  error: string
}

const setup = () => {
  const onError = vi.fn()
  return { onError, emitter: new Emitter<Events>(onError) }
}

test('each listener of an event hears it, in the order in which they came', () => {
  const { emitter } = setup()
  const log: string[] = []
  emitter.on('change', (value) => log.push(`a${value}`))
  emitter.on('change', (value) => log.push(`b${value}`))
  emitter.on('error', (value) => log.push(value))
  emitter.emit('change', 1)
  expect(log).toEqual(['a1', 'b1'])
})

test('one that throws starves nobody', () => {
  const { emitter, onError } = setup()
  const fault = new Error('mine')
  const heard = vi.fn()
  emitter.on('change', () => {
    throw fault
  })
  emitter.on('change', heard)
  emitter.emit('change', 1)
  expect(onError).toHaveBeenCalledExactlyOnceWith(fault)
  expect(heard).toHaveBeenCalledOnce()
})

test('the same function added twice hears twice, and each undo takes back its own', () => {
  const { emitter } = setup()
  const heard = vi.fn()
  const undo = emitter.on('change', heard)
  emitter.on('change', heard)
  emitter.emit('change', 1)
  undo()
  undo()
  emitter.emit('change', 2)
  expect(heard.mock.calls).toEqual([[1], [1], [2]])
})

test('a listener taken back while an event is told hears it no more; one added then hears the next', () => {
  const { emitter } = setup()
  const late = vi.fn()
  const removed = vi.fn()
  emitter.on('change', () => {
    undo()
    emitter.on('change', late)
  })
  const undo = emitter.on('change', removed)
  emitter.emit('change', 1)
  expect(removed).not.toHaveBeenCalled()
  expect(late).not.toHaveBeenCalled()
})

test('has says whether anybody listens, and clear takes all back, also while an event is told', () => {
  const { emitter } = setup()
  const heard = vi.fn()
  expect(emitter.has('change')).toBe(false)
  emitter.on('change', () => emitter.clear())
  emitter.on('change', heard)
  expect([emitter.has('change'), emitter.has('error')]).toEqual([true, false])
  emitter.emit('change', 1)
  expect([emitter.has('change'), heard.mock.calls.length]).toEqual([false, 0])
  emitter.on('change', heard)
  emitter.emit('change', 2)
  expect(heard).toHaveBeenCalledOnce()
})
