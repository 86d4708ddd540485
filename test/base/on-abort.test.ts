import { expect, test } from 'vitest'
import { onAbort } from '../../src/base/on-abort.ts'

function listening(signal: AbortSignal | undefined) {
  const heard: string[] = []
  const undo = onAbort(signal, () => heard.push('aborted'))
  return { heard, undo }
}

test('an abort is heard when it comes', () => {
  const controller = new AbortController()
  const { heard } = listening(controller.signal)
  expect(heard).toEqual([])
  controller.abort()
  expect(heard).toEqual(['aborted'])
})

test('an abort that has been is heard at once', () => {
  expect(listening(AbortSignal.abort()).heard).toEqual(['aborted'])
})

test('what is undone hears nothing, and no signal is never aborted', () => {
  const controller = new AbortController()
  const { heard, undo } = listening(controller.signal)
  undo()
  controller.abort()
  listening(undefined).undo()
  expect(heard).toEqual([])
})
