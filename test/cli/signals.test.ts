import { expect, test } from 'vitest'
import { untilToldToEnd } from '../../src/cli/listen.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'

test('one signal ends nothing at once, also where it reaches a listener that is added meanwhile, as in Deno', async () => {
  const output: Output = { isTerminal: false, write: () => {} }
  const listeners = new Set<() => void>()
  const exits: number[] = []
  const shell: Shell = {
    env: {},
    stdout: output,
    stderr: output,
    onEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    exit: (code) => void exits.push(code),
  }
  const signal = () => {
    for (const listener of listeners) listener()
  }
  const told = untilToldToEnd(shell)
  signal()
  await told
  expect(exits).toEqual([])
  signal()
  expect(exits).toEqual([1])
})
