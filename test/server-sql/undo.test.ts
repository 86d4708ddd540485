import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { bearerToken, createSyncService, openSqlLog, serve } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { shown } from '../support/test-device.ts'

type Mutator = Parameters<Parameters<SyncClient['mutate']>[0]>[0]

const postgres = ownPostgres()
const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const before = { 1: { title: 'Milk', n: 1 } }

/** What the user does, and what is there afterwards. */
const ops: readonly [op: string, write: (m: Mutator) => void, after: object][] = [
  ['insert', (m) => m.insert('Note', { id: '2', title: 'Bread' }), { ...before, 2: { title: 'Bread' } }],
  ['update', (m) => m.update('Note', '1', { title: 'Oats' }), { 1: { ...before[1], title: 'Oats' } }],
  ['delete', (m) => m.delete('Note', '1'), {}],
  ['put', (m) => m.put('Note', { id: '1', userId: 'ada', other: 1 }), { 1: { other: 1 } }],
]

/** Two clients of Ada's, at a service on a database of its own. */
async function scene(name: string) {
  const log = await openSqlLog(await postgres.database(name))
  const service = createSyncService({
    database: log,
    ownerField: 'userId',
    authenticate: async (request) => ({ userId: bearerToken(request) ?? '' }),
    logger: silentLogger,
  })
  closing.push(() => service.close())
  await service.write([{ op: 'i', t: 'Note', id: '1', p: { userId: 'ada', ...before[1] } }])
  const { url, close } = await serve(service, { port: 0 })
  closing.push(close)
  const open = async () => {
    const client = new SyncClient({
      baseUrl: url,
      token: 'ada',
      identity: 'ada',
      store: memoryStore(),
      logger: silentLogger,
    })
    closing.push(() => client.close())
    await client.start()
    await expect.poll(() => client.status.connection.state).toBe('socket')
    return client
  }
  return [await open(), await open()] as const
}

describe.each(['accepted', 'synced'] as const)(
  'undo and redo on PostgreSQL, once a write is %s',
  (moment) => {
    test.each(ops)('of %s', async (op, write, after) => {
      const [client, other] = await scene(`undo_${moment}_${op}`)
      await client.mutate(write)[moment]
      expect(await client.undo()).toBe(true)
      expect(shown(client, 'Note')).toEqual(before)
      expect(await client.redo()).toBe(true)
      expect(shown(client, 'Note')).toEqual(after)
      await expect.poll(() => client.status.writes.pending).toBe(0)
      await expect.poll(() => shown(other, 'Note')).toEqual(after)
      expect(await client.undo()).toBe(true)
      await expect.poll(() => client.status.writes.pending).toBe(0)
      await expect.poll(() => shown(other, 'Note')).toEqual(before)
      expect(shown(client, 'Note')).toEqual(before)
    })
  },
)
