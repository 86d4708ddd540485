import { deleteDatabase, indexedDbStore, listDatabases } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { expect, test, vi } from 'vitest'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'

test('the databases of all identities are listed, without `indexedDB.databases`, until they are deleted', async () => {
  const indexedDB = fakeIndexedDb()
  Object.assign(indexedDB, { databases: undefined })
  const server = mockSyncServer({ clock: 'real' })
  const clients = ['ada', 'bob'].map((identity) =>
    server.client({ identity, store: indexedDbStore({ indexedDB }) }),
  )
  for (const client of clients) await client.start()
  const bootstrapUrl = clients[0]?.endpoints.bootstrapUrl
  const listed = await listDatabases({ indexedDB })
  expect(listed.map(({ identity }) => identity)).toEqual(['ada', 'bob'])
  expect(listed[0]).toEqual({
    name: `instep:${JSON.stringify([bootstrapUrl, 'ada'])}`,
    bootstrapUrl,
    identity: 'ada',
  })

  await clients[0]?.logout()
  await expect.poll(() => listDatabases({ indexedDB })).toMatchObject([{ identity: 'bob' }])
  await clients[1]?.close()
  await deleteDatabase(listed[1]?.name ?? '', { indexedDB })
  expect(await listDatabases({ indexedDB })).toEqual([])
  await server.close()
})

test('without IndexedDB, listing rejects with `no_storage`', async () => {
  vi.stubGlobal('indexedDB', undefined)
  await expect(listDatabases()).rejects.toMatchObject({ name: 'StorageError', code: 'no_storage' })
  vi.unstubAllGlobals()
})
