import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { untilSignal } from '../../src/cli/listen.ts'
import { main } from '../../src/cli/main.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'

test('one signal ends nothing at once, even if a listener that is added meanwhile gets it too, as in Deno', async () => {
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
  const told = untilSignal(shell)
  signal()
  await told
  expect(exits).toEqual([])
  signal()
  expect(exits).toEqual([1])
})

test('`serve` that gets a signal before it listens never listens, and exits with 0', async () => {
  const printed: string[] = []
  const output: Output = { isTerminal: false, write: (text) => void printed.push(text) }
  const listening = new Deferred<() => void>()
  const shell: Shell = {
    env: { INSTEP_JWT_SECRET: 'a secret that is long enough to sign with' },
    stdout: output,
    stderr: output,
    onEnd(listener) {
      listening.resolve(listener)
      return () => {}
    },
    exit: () => {},
  }
  const ended = main(['serve', '--database', 'memory:', '--port', '0'], shell, () => '')
  const signal = await listening.promise
  signal()
  expect(await ended).toBe(0)
  expect(printed).toEqual([])
})
