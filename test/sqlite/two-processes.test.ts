import { expect, onTestFinished, test } from 'vitest'
import { SyncClient } from '../../src/index.ts'
import { createSyncService, serve } from '../../src/server/index.ts'
import { runChild } from '../support/child.ts'
import { ownFolder, ownSqliteStore } from '../support/sqlite.ts'

interface Said {
  readonly role?: string
  readonly ids?: readonly string[]
  readonly synced?: string
}

/** In real time, with real processes and sockets. */
test('invariant 40: of two processes one leads, each shows and sends what the other writes, and one goes on when the other is killed', async () => {
  const service = createSyncService({
    database: 'memory:',
    ownerField: 'userId',
    authenticate: async () => ({ userId: 'ada' }),
  })
  const { url: baseUrl, close } = await serve(service, { port: 0 })
  onTestFinished(close)
  const folder = ownFolder()
  const client = new SyncClient({ baseUrl, token: 'ada', identity: 'ada', store: ownSqliteStore(folder) })
  onTestFinished(() => client.close())
  await client.start()
  await client.ready()

  const child = await runChild<Said>('test/sqlite/partner.ts', [folder, baseUrl])
  const until = async (isSaid: (said: Said) => boolean) => {
    while (!isSaid(await child.next()));
  }
  await until(({ role }) => role === 'leader')
  await expect.poll(() => client.status.role, { timeout: 10_000 }).toBe('follower')
  // Sent by the other process.
  await client.mutate((m) => m.insert('Note', { id: 'ping' })).synced
  await until(({ synced }) => synced === 'pong')
  await expect.poll(() => client.get('Note', 'pong'), { timeout: 10_000 }).toBeDefined()
  expect(client.status.role).toBe('follower')

  await child.kill()
  await client.mutate((m) => m.insert('Note', { id: 'alone' })).synced
  expect(client.status.role).toBe('leader')
  expect(client.status.writes.pending).toBe(0)
}, 60_000)
