import { beforeEach, expect, test } from 'vitest'
import { keepListening } from '../../src/server/log/sql/listener.ts'
import { recorder } from '../server/harness.ts'
import { settle, VirtualClock } from '../support/virtual.ts'

interface Attempt {
  readonly listens: () => void
  readonly fails: () => void
  readonly isLost: () => void
}

let clock: VirtualClock
let attempts: Attempt[]
/** What has happened, in order. */
let log: string[]
let lines: readonly string[]

beforeEach(() => {
  clock = new VirtualClock()
  attempts = []
  log = []
})

/** Listens over connections each of which does what is told of its attempt; waits a whole second for the first retry. */
function listen() {
  const { logger, lines: said } = recorder()
  lines = said
  return keepListening({
    connect: (_, onLost) =>
      new Promise((resolve, reject) => {
        attempts.push({
          listens: () => resolve({ close: async () => void log.push('closed') }),
          fails: () => reject(new Error('refused')),
          isLost: () => onLost(new Error('cut')),
        })
      }),
    onNotice: () => {},
    onListening: () => log.push('listening'),
    clock,
    random: { number: () => 0.999, bytes: (length) => new Uint8Array(length) },
    logger,
  })
}

test('a connection that opens after the unsubscription is closed, and not reported', async () => {
  const undo = listen()
  undo()
  attempts[0]?.listens()
  await settle()
  expect(log).toEqual(['closed'])
  attempts[0]?.isLost()
  await clock.advance(600_000)
  expect([attempts.length, log, lines]).toEqual([1, ['closed'], []])
})

test('a lost connection is retried once, however often the loss is reported, and sooner after it was open', async () => {
  const waits: number[] = []
  const undo = listen()
  for (let round = 0; round < 6; round += 1) {
    const before = clock.now()
    if (round < 4) attempts.at(-1)?.fails()
    else {
      attempts.at(-1)?.listens()
      await settle()
      attempts.at(-1)?.isLost()
      attempts.at(-1)?.isLost()
    }
    const { length } = attempts
    while (attempts.length === length) await clock.advance(100)
    waits.push(clock.now() - before)
  }
  expect(attempts).toHaveLength(7)
  expect(lines).toHaveLength(6)
  expect(waits.slice(4)).toEqual([waits[0], waits[0]])
  expect(waits[3]).toBeGreaterThan(waits[0] ?? 0)
  undo()
})
