import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { OutboxLog } from '../../src/mutations/outbox-log.ts'
import type { OutboxChange, OutboxRecord } from '../../src/persistence/outbox.ts'

const record = (id: string): OutboxRecord => ({
  id,
  state: 'queued',
  at: 0,
  since: 0,
  ops: [],
  before: [],
  bases: [],
  requires: [],
  version: 1,
})

/** A disk whose writes end when they are told to. */
function slowDisk() {
  const changes: OutboxChange[] = []
  const ends: { resolve: (taken: readonly string[]) => void; reject: (error: unknown) => void }[] = []
  const log = new OutboxLog((change) => {
    changes.push(change)
    return new Promise((resolve, reject) => ends.push({ resolve, reject }))
  })
  const told = () =>
    changes.map(({ put = [], remove = [] }) => [
      ...put.map(({ id }) => `+${id}`),
      ...remove.map((id) => `-${id}`),
    ])
  return { log, told, ends }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('what is put while a write is under way goes to the disk in one write', async () => {
  const { log, told, ends } = slowDisk()
  const first = log.put(() => record('1'))
  await turn()
  const rest = [log.put(() => record('2')), log.put(() => record('3'))]
  await turn()
  expect(told()).toEqual([['+1']])
  ends[0]?.resolve([])
  await first
  await turn()
  expect(told()).toEqual([['+1'], ['+2', '+3']])
  ends[1]?.resolve([])
  await Promise.all(rest)
})

test('a change stands between what was put before it and after it', async () => {
  const { log, told, ends } = slowDisk()
  const all = [log.put(() => record('1')), log.change({ remove: ['1'] }), log.put(() => record('2'))]
  for (let n = 0; n < 3; n += 1) {
    await turn()
    ends[n]?.resolve([])
  }
  expect(await Promise.all(all)).toEqual([undefined, [], undefined])
  expect(told()).toEqual([['+1'], ['-1'], ['+2']])
})

test('a write that fails fails for what was in it, and no other', async () => {
  const { log, ends } = slowDisk()
  const first = log.put(() => record('1'))
  await turn()
  const second = log.put(() => record('2'))
  ends[0]?.reject(new StorageError('quota', 'Full.'))
  await expect(first).rejects.toThrow('Full.')
  await turn()
  ends[1]?.resolve([])
  await second
  await log.settled()
})

test('whoever waits for the end of what is under way is told whether more has come of it', async () => {
  const { log, ends } = slowDisk()
  const second = log.put(() => record('1')).then(() => log.put(() => record('2')))
  const settled = log.settled()
  await turn()
  ends[0]?.resolve([])
  expect(await settled).toBe(true)
  await turn()
  ends[1]?.resolve([])
  expect([await log.settled(), await second]).toEqual([false, undefined])
})
