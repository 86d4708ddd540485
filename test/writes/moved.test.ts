import {
  memoryStore,
  type Store,
  SyncClient,
  type SyncClientOptions,
  type SyncError,
  silentLogger,
} from 'instep'
import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { perOrigin } from '../support/per-origin.ts'

const [former, present] = ['https://old.test/sync/v1', 'https://sync.test/sync/v1']

/** Ada has written a record at the former address, offline, and closed the application. */
async function withUnsent(store: Store = { ...memoryStore(), kind: 'durable', shared: perOrigin }) {
  const server = mockSyncServer()
  const device = server.device()
  let user = 'ada'
  const clients: SyncClient[] = []
  const make = (options: Partial<SyncClientOptions>) => {
    const token = user === 'ada' ? ada : bob
    const client = new SyncClient({
      baseUrl: present,
      token,
      identity: 'ada',
      store,
      logger: silentLogger,
      environment: device.environment,
      ...options,
    })
    clients.push(client)
    return client
  }
  const [ada, bob] = [server.token('ada'), server.token('bob')]
  const open = async (options: Partial<SyncClientOptions> = {}) => {
    const client = make(options)
    const errors: SyncError[] = []
    client.on('error', (error) => errors.push(error))
    await server.clock.until(client.start())
    await server.clock.advance(5_000)
    return { client, errors }
  }
  const quit = () => server.clock.until(Promise.all(clients.splice(0).map((client) => client.close())))
  const { client: before } = await open({ baseUrl: former })
  device.disconnect()
  await server.clock.until(before.mutate((m) => m.insert('Issue', { id: 'unsent' })).durable)
  await quit()
  device.reconnect()
  return {
    server,
    device,
    make,
    open,
    quit,
    signInAs: (name: string) => {
      user = name
    },
    ids: async (of = 'ada') => (await server.rows(of)).map(({ id }) => id),
    names: async () => (await store.names?.()) ?? [],
  }
}

test('with `movedFrom`, writes that wait in the database of a former address are sent', async () => {
  const { open, ids, quit } = await withUnsent()
  const { client, errors } = await open({ movedFrom: [former] })
  expect(await ids()).toEqual(['unsent'])
  expect(client.status.writes.pending).toBe(0)
  expect(errors).toEqual([])
  await quit()
})

test('with `movedFrom`, they are shown at once, and stay if the client is closed before it was online', async () => {
  const { device, open, ids, quit } = await withUnsent()
  device.disconnect()
  const { client } = await open({ movedFrom: [former] })
  expect(client.outbox.list()).toHaveLength(1)
  expect(client.get('Issue', 'unsent')).toBeDefined()
  await quit()
  device.reconnect()
  const again = await open()
  expect(again.errors).toEqual([])
  expect(await ids()).toEqual(['unsent'])
  await quit()
})

test('with `movedFrom`, the database of the former address is deleted', async () => {
  const { open, names, quit } = await withUnsent()
  await open({ movedFrom: [former] })
  const ofClients = (await names()).filter((name) => name.startsWith('instep:'))
  expect(ofClients).toEqual([`instep:["${present}/bootstrap","ada"]`])
  await quit()
})

test('`movedFrom` takes a former `endpoints.bootstrapUrl`, too', async () => {
  const { open, ids, quit } = await withUnsent()
  await open({ movedFrom: [`${former}/bootstrap`] })
  expect(await ids()).toEqual(['unsent'])
  await quit()
})

test('with `movedFrom`, a rejected write moves into the outbox of the present address', async () => {
  const { server, open, quit } = await withUnsent()
  server.reject('forbidden')
  const before = await open({ baseUrl: former })
  expect(before.client.status.writes.rejected).toBe(1)
  await quit()
  const { client } = await open({ movedFrom: [former] })
  expect(client.status.writes.rejected).toBe(1)
  await quit()
})

test('with `movedFrom`, what another user has written is not moved', async () => {
  const { open, ids, quit, signInAs } = await withUnsent()
  signInAs('bob')
  const { client } = await open()
  await quit()
  expect(client.status.lifecycle).toBe('closed')
  const { errors } = await open({ movedFrom: [former] })
  expect(await ids('bob')).toEqual([])
  expect(await ids()).toEqual([])
  expect(errors).toMatchObject([{ name: 'UnauthenticatedError', code: 'other_user' }])
  await quit()
})

test('without `movedFrom`, an error names the database with unsent writes, and nothing of it is sent', async () => {
  const { open, ids, quit } = await withUnsent()
  const { errors } = await open()
  expect(errors).toMatchObject([{ name: 'ConfigurationError', option: 'movedFrom' }])
  expect(errors[0]?.message).toContain('https://old.test/sync/v1/bootstrap')
  expect(await ids()).toEqual([])
  await quit()
})

test('without `movedFrom`, the database of another identity is no error', async () => {
  const { open, quit } = await withUnsent()
  const { errors } = await open({ identity: 'somebody else' })
  expect(errors).toEqual([])
  await quit()
})

test('without `movedFrom`, a database that has nothing unsent is no error', async () => {
  const { open, quit } = await withUnsent()
  await open({ baseUrl: former })
  await quit()
  const { errors } = await open()
  expect(errors).toEqual([])
  await quit()
})

test('without `movedFrom`, a database that another client has open is no error', async () => {
  const { device, open, quit } = await withUnsent()
  const environment = { ...device.environment, locks: new VirtualLocks().page() }
  device.disconnect()
  await open({ baseUrl: former, environment })
  const { errors } = await open({ environment })
  expect(errors).toEqual([])
  await quit()
})

test('with an empty `movedFrom`, no other database is looked for', async () => {
  const { open, ids, quit } = await withUnsent()
  const { errors } = await open({ movedFrom: [] })
  expect(errors).toEqual([])
  expect(await ids()).toEqual([])
  await quit()
})

test('`movedFrom` must be a list of addresses', async () => {
  const { make } = await withUnsent()
  // @ts-expect-error: not a list
  expect(() => make({ movedFrom: former })).toThrow('`movedFrom` must be a list of addresses.')
  expect(() => make({ movedFrom: ['ftp://old.test'] })).toThrow('`movedFrom` begins with `ftp:`')
})
