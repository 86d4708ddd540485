import { afterEach, describe, expect, test } from 'vitest'
import type { Commit, OnCommit, SyncService } from '../../src/server/index.ts'
import { createSyncService, MemoryLog } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { authenticate, insert, recorder, remove, requestTo, update } from './harness.ts'
import { make, tx } from './tx-support.ts'

const postgres = ownPostgres()
let services: SyncService[] = []

afterEach(async () => {
  await Promise.all(services.map((service) => service.close()))
  services = []
})

let count = 0
/** Each gives one without content. */
const databases = {
  memory: async () => new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) }),
  PostgreSQL: () => {
    count += 1
    return postgres.database(`hook${count}`)
  },
}

function serve(database: string | MemoryLog, onCommit: OnCommit) {
  const { logger, lines } = recorder()
  const service = createSyncService({ database, authenticate, ownerField: 'userId', logger, onCommit })
  services.push(service)
  const send = async (txs: readonly object[], user = 'ann') => {
    const answer = await service.fetch(
      requestTo('tx', user, { method: 'POST', body: JSON.stringify({ txs }) }),
    )
    return answer.json()
  }
  return { service, send, lines }
}

describe.each(Object.entries(databases))('`onCommit` of a service on %s', (_, database) => {
  test('is called for writes of the service and of its clients, with their owners', async () => {
    const commits: Commit[] = []
    const { service, send } = serve(await database(), (commit) => commits.push(commit))
    await service.write([insert('1', { title: 'Cable' }), insert('2', {}, 'bob')])
    await send([tx('t1', [make('3'), { op: 'd', t: 'Todo', id: '1' }])])
    await service.write([update('2', { userId: 'ann' })])
    expect(commits).toMatchObject([
      {
        sid: 2,
        changes: [
          {
            owner: 'ann',
            frame: { sid: 1, op: 'i', t: 'Todo', id: '1', p: { userId: 'ann', title: 'Cable' } },
          },
          { owner: 'bob', frame: { sid: 2, op: 'i', t: 'Todo', id: '2' } },
        ],
      },
      {
        sid: 4,
        by: { tx: 't1', userId: 'ann' },
        changes: [
          { owner: 'ann', frame: { sid: 3, op: 'i', id: '3', tx: 't1' } },
          { owner: 'ann', frame: { sid: 4, op: 'd', id: '1', tx: 't1' } },
        ],
      },
      {
        sid: 6,
        changes: [
          { owner: 'bob', frame: { sid: 5, op: 'd' } },
          { owner: 'ann', frame: { sid: 6, op: 'i' } },
        ],
      },
    ])
    expect(commits.map(({ by }) => by?.tx)).toEqual([undefined, 't1', undefined])
  })

  test('is not called for writes that change nothing: an absent record, a rejection, a repeated transaction', async () => {
    const told: unknown[] = []
    const { service, send } = serve(await database(), ({ sid, by }) => told.push([sid, by?.tx]))
    await service.write([remove('absent')])
    await expect(service.write([insert('1'), insert('1')])).rejects.toMatchObject({ reason: 'exists' })
    const txs = [
      tx('t1', [make('1')]),
      tx('t2', [make('1')]),
      tx('t3', [{ op: 'd', t: 'Todo', id: 'absent' }]),
    ]
    const first = await send(txs)
    expect(await send(txs)).toEqual(first)
    expect(told).toEqual([[1, 't1']])
  })

  test('may throw, reject or never end, and delays neither writes nor later calls', async () => {
    const told: number[] = []
    const endings = [
      () => {
        throw new Error('It throws.')
      },
      () => Promise.reject(new Error('It rejects.')),
      () => new Promise(() => {}),
    ]
    const { service, lines } = serve(await database(), ({ sid }) => {
      told.push(sid)
      return endings.shift()?.()
    })
    for (const id of ['1', '2', '3', '4']) await service.write([insert(id)])
    await expect.poll(() => told).toEqual([1, 2, 3, 4])
    expect(lines).toEqual([
      'The hook `onCommit` failed. {"sid":1,"reason":"It throws."}',
      'The hook `onCommit` failed. {"sid":2,"reason":"It rejects."}',
    ])
  })

  test('may change its argument, and may write', async () => {
    const counted: number[] = []
    const { service } = serve(await database(), async ({ sid, changes }) => {
      for (const { frame } of changes) if (frame.op !== 'd') Object.assign(frame.p, { title: 'changed' })
      counted.push(sid)
      if (sid === 1) await service.write([insert('count', { of: 1 })])
    })
    await service.write([insert('1', { title: 'Cable' })])
    await expect.poll(() => counted).toEqual([1, 2])
    const answer = await service.fetch(requestTo('bootstrap', 'ann'))
    const { rows } = await answer.json()
    expect(rows).toMatchObject([{ id: '1', p: { title: 'Cable' } }, { id: 'count' }])
  })
})

test('is called by the service that committed, in order, if two services share a PostgreSQL', async () => {
  const database = await postgres.database('two')
  const told: Record<'one' | 'other', number[]> = { one: [], other: [] }
  const one = serve(database, ({ sid }) => told.one.push(sid))
  const other = serve(database, ({ sid }) => told.other.push(sid))
  await Promise.all([one.service.ready(), other.service.ready()])
  // As many at a time as there are connections to write by.
  const writers = [one, other].flatMap(({ service }) => Array.from({ length: 4 }, () => service))
  await Promise.all(
    writers.map(async (service, writer) => {
      for (let n = 0; n < 10; n += 1) await service.write([insert(`${writer}-${n}`)])
    }),
  )
  for (const sids of Object.values(told)) {
    expect(sids).toHaveLength(40)
    expect(sids).toEqual([...sids].sort((a, b) => a - b))
  }
  expect(new Set([...told.one, ...told.other]).size).toBe(80)
})
