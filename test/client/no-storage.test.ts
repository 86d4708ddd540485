import { indexedDbStore } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => {
  vi.stubGlobal('indexedDB', undefined)
  return () => vi.unstubAllGlobals()
})

/** An IndexedDB that does not open, for the reason `name`. */
function broken(name: string, message = 'No.'): IDBFactory {
  const open = () => {
    throw new DOMException(message, name)
  }
  return { open, deleteDatabase: open } as unknown as IDBFactory
}

async function signedIn(indexedDB?: IDBFactory) {
  const server = mockSyncServer()
  await server.write([{ op: 'i', t: 'Note', id: 'n1', p: {} }], 'ada')
  const device = server.device()
  const client = device.client({ identity: 'ada', store: indexedDbStore({ indexedDB }) })
  await client.start()
  await server.settle()
  const logout = (options?: Parameters<typeof client.logout>[0]) => server.clock.until(client.logout(options))
  return { server, device, client, logout }
}

const blocked = [
  ['there is no IndexedDB', undefined],
  ['the page is in a sandbox', broken('SecurityError')],
  ['Chromium blocks cookies', broken('UnknownError', 'The user denied permission to access the database.')],
] as const

test.each(blocked)(
  'where %s, `logout` signs the user out, and there is nothing to erase',
  async (_, factory) => {
    const { server, client, logout } = await signedIn(factory)
    expect(client.count('Note')).toBe(1)
    await expect(logout()).resolves.toMatchObject({ sent: 0, kept: 0, discarded: 0 })
    expect(client.status.lifecycle).toBe('signed-out')
    expect(client.count('Note')).toBe(0)
    await server.close()
  },
)

test('where storage is blocked, `logout` asks what to do with an unsent write, which cannot be kept', async () => {
  const { server, device, client, logout } = await signedIn()
  device.disconnect()
  client.mutate((m) => m.insert('Note', {}))
  await expect(logout()).rejects.toMatchObject({ name: 'PendingError', pending: 1 })
  await expect(logout({ pending: 'keep' })).rejects.toMatchObject({ name: 'PendingError', pending: 1 })
  expect(client.status.lifecycle).toBe('running')
  await expect(logout({ pending: 'discard' })).resolves.toMatchObject({ discarded: 1 })
  expect(client.status.lifecycle).toBe('signed-out')
  await server.close()
})

test('where the database exists and does not open, `logout` rejects, because its data cannot be erased', async () => {
  const { server, client, logout } = await signedIn(broken('UnknownError', 'Internal error.'))
  await expect(logout()).rejects.toMatchObject({ name: 'StorageError', code: 'unavailable' })
  expect(client.status.lifecycle).toBe('running')
  await server.close()
})
