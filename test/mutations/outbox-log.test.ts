import { expect, test } from 'vitest'
import { OutboxLog } from '../../src/mutations/outbox-log.ts'
import type { OutboxChange, OutboxRecord, OutboxWritten } from '../../src/persistence/outbox.ts'

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
  const ends: { resolve: (written: OutboxWritten) => void; reject: (error: unknown) => void }[] = []
  const log = new OutboxLog((change) => {
    changes.push(change)
    return new Promise((resolve, reject) => ends.push({ resolve, reject }))
  })
  const told = () =>
    changes.map(({ put = [], end = [] }) => [
      ...put.map(({ id }) => `+${id}`),
      ...end.map(({ id }) => `-${id}`),
    ])
  return { log, told, ends }
}

const written = { stored: new Map(), refused: new Map() }

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a change stands between what was put before it and after it', async () => {
  const { log, told, ends } = slowDisk()
  const all = [
    log.put(() => record('1')),
    log.change({ end: [{ id: '1', state: 'cancelled' }] }),
    log.put(() => record('2')),
  ]
  for (let n = 0; n < 3; n += 1) {
    await turn()
    ends[n]?.resolve(written)
  }
  expect(await Promise.all(all)).toEqual([written, written, written])
  expect(told()).toEqual([['+1'], ['-1'], ['+2']])
})
