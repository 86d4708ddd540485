import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Fetch, memoryStore, SyncClient, silentLogger, type Transaction } from '../../src/index.ts'
import type { Store } from '../../src/storage/store.ts'
import { instep } from '../cli/command-line.ts'
import { type PythonBackend, startPythonBackend } from '../support/python-backend.ts'
import { ownFolder } from '../support/sqlite.ts'
import { shown } from '../support/test-device.ts'

const users = ['ada', 'ben']
let database: string
let backend: PythonBackend

beforeEach(async () => {
  database = join(ownFolder(), 'data.db')
  backend = await startPythonBackend(database, users)
  const op = { op: 'i', t: 'Issue', id: '1', p: cable }
  await call('tx', 'token-of-ada', { txs: [{ id: 'the-first', since: 0, ops: [op] }] })
})

const cable = { title: 'Cable cut', open: true }

const call = (path: string, token: string, body?: object) =>
  fetch(`${backend.baseUrl}/${path}`, {
    headers: { Authorization: `Bearer ${token}` },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })

async function startClient({
  user = 'ada',
  store = memoryStore(),
  fetch,
}: {
  readonly user?: string
  readonly store?: Store
  readonly fetch?: Fetch
} = {}): Promise<SyncClient> {
  const client = new SyncClient({
    baseUrl: backend.baseUrl,
    token: `token-of-${user}`,
    identity: user,
    store,
    logger: silentLogger,
    pollInterval: 60_000,
    environment: fetch ? { fetch } : {},
  })
  onTestFinished(() => client.close())
  await client.start()
  await client.ready()
  await expect.poll(() => client.status.connection.state).toBe('socket')
  return client
}

/** The undo of `tx`, which takes something back. */
async function undone(tx: Transaction): Promise<Transaction> {
  const undo = await tx.undo()
  if (!undo) throw new Error('The undo takes nothing back.')
  return undo
}

test('a client shows its snapshot, and a later one what was written meanwhile', async () => {
  const client = await startClient()
  expect(shown(client)).toEqual({ 1: cable })
  const tx = client.mutate((m) => m.update('Issue', '1', { open: false }))
  await tx.accepted
  await tx.synced
  expect(shown(await startClient())).toEqual({ 1: { ...cable, open: false } })
  await backend.stop()
})

test('changes are pushed to another client', async () => {
  const [device, phone] = [await startClient(), await startClient()]
  device.mutate((m) => {
    m.update('Issue', '1', { open: false })
    m.insert('Issue', { id: '2', title: 'Door stuck' })
  })
  await expect.poll(() => shown(phone)).toEqual({ 1: { ...cable, open: false }, 2: { title: 'Door stuck' } })
  phone.mutate((m) => m.delete('Issue', '1'))
  await expect.poll(() => shown(device)).toEqual({ 2: { title: 'Door stuck' } })
  await backend.stop()
})

test('a write on a condition that does not hold is refused and undone', async () => {
  const [device, phone] = [await startClient(), await startClient()]
  await phone.stop()
  const late = phone.mutate((m) => m.update('Issue', '1', { open: null }, { ifUnchanged: true }))
  await device.mutate((m) => m.update('Issue', '1', { open: false })).synced
  await phone.start()
  await late.settled
  expect(late.rejection?.reason).toBe('conflict')
  await expect.poll(() => shown(phone)).toEqual({ 1: { ...cable, open: false } })
})

test('the own earlier write breaks no condition', async () => {
  const client = await startClient()
  const write = (n: number) => client.mutate((m) => m.update('Issue', '1', { n }, { ifUnchanged: true }))
  const all = [write(1), write(2), write(3)]
  for (const tx of all) await tx.synced
  expect(shown(client)).toEqual({ 1: { ...cable, n: 3 } })
})

test('of a refused transaction nothing is carried out, nor of one that requires it', async () => {
  const client = await startClient()
  const refused = client.mutate((m) => {
    m.insert('Issue', { id: '2' })
    m.update('Issue', '1', { text: 'x'.repeat(1_048_576 - 100_000) })
  })
  await refused.settled
  const longer = client.mutate((m) => {
    m.insert('Issue', { id: '3' })
    m.update('Issue', '1', { more: 'x'.repeat(100_000) })
  })
  const dependent = client.mutate((m) => m.insert('Issue', { id: '4' }), { requires: [longer] })
  await dependent.settled
  expect(refused.rejection).toBeUndefined()
  expect(longer.rejection?.reason).toBe('too_large')
  expect(dependent.rejection?.reason).toBe('dependency_rejected')
  expect(Object.keys(shown(await startClient()))).toEqual(['1', '2'])
})

test('an undo leaves what another client has written since', async () => {
  const [device, phone] = [await startClient(), await startClient()]
  const tx = device.mutate((m) => m.update('Issue', '1', { title: 'Cable mended', open: false }))
  await tx.synced
  await phone.sync()
  await phone.mutate((m) => m.update('Issue', '1', { open: 'perhaps' })).synced
  await device.sync()
  await (await undone(tx)).synced
  await expect.poll(() => shown(phone)).toEqual({ 1: { title: 'Cable cut', open: 'perhaps' } })
})

test('of two removals, only the undo of the first brings the record back', async () => {
  const [device, phone] = [await startClient(), await startClient()]
  await phone.stop()
  const second = phone.mutate((m) => m.delete('Issue', '1'))
  const first = device.mutate((m) => m.delete('Issue', '1'))
  await first.synced
  await phone.start()
  await second.synced
  expect(await second.undo()).toBe(false)
  await (await undone(first)).synced
  await expect.poll(() => shown(phone)).toEqual({ 1: cable })
})

test('a write whose response was lost is carried out once, and undone after a restart', async () => {
  const store = memoryStore()
  let isCut = true
  const client = await startClient({
    store,
    fetch: async (input, init) => {
      const response = await fetch(input, init)
      if (!isCut || init?.method !== 'POST') return response
      isCut = false
      throw new TypeError('The line is cut.')
    },
  })
  await client.mutate((m) => m.delete('Issue', '1')).synced
  expect(await client.undo()).toBe(true)
  await client.close()
  const again = await startClient({ store })
  await expect.poll(() => again.outbox.list()).toEqual([])
  expect(isCut).toBe(false)
  expect(shown(again)).toEqual({ 1: cable })
  expect(shown(await startClient())).toEqual({ 1: cable })
})

test('clients go on where they were when the server starts again on the same file', async () => {
  const [device, phone] = [await startClient(), await startClient()]
  const resets: unknown[] = []
  for (const client of [device, phone]) client.on('reset', (event) => resets.push(event))
  await backend.stop()
  const tx = device.mutate((m) => m.update('Issue', '1', { open: false }))
  backend = await startPythonBackend(database, users, backend.port)
  await tx.synced
  await expect.poll(() => shown(phone)).toEqual({ 1: { ...cable, open: false } })
  expect(resets).toEqual([])
})

test('clients fetch a snapshot when the server starts again with another history', async () => {
  const client = await startClient()
  await client.sync()
  await backend.stop()
  backend = await startPythonBackend(join(ownFolder(), 'other.db'), users, backend.port)
  await expect.poll(() => shown(client)).toEqual({})
})

test('a client that was away fetches what it has missed, and no snapshot', async () => {
  const store = memoryStore()
  const away = await startClient({ store })
  await away.close()
  const other = await startClient()
  other.mutate((m) => m.delete('Issue', '1'))
  await other.mutate((m) => m.insert('Issue', { id: '2' })).synced
  const paths: string[] = []
  const back = await startClient({
    store,
    fetch: (input, init) => {
      paths.push(new URL(String(input)).pathname)
      return fetch(input, init)
    },
  })
  await expect.poll(() => shown(back)).toEqual({ 2: {} })
  expect(paths.filter((path) => path.endsWith('/bootstrap'))).toEqual([])
})

test('another user sees nothing, and can neither take nor replace the id', async () => {
  const [ada, ben] = [await startClient(), await startClient({ user: 'ben' })]
  const attempts = [
    ben.mutate((m) => m.insert('Issue', { id: '1', title: 'His' })),
    ben.mutate((m) => m.put('Issue', { id: '1', title: 'His' })),
  ]
  for (const tx of attempts) await tx.settled
  expect(attempts.map(({ rejection }) => rejection?.reason)).toEqual(['exists', 'exists'])
  expect(shown(ben)).toEqual({})
  expect(shown(ada)).toEqual({ 1: cable })
  await backend.stop()
})

test('a wrong token is refused at every address, so that a page can read it', async () => {
  const inQuery = 'delta?since=0&token=token-of-ada'
  for (const path of ['bootstrap', 'delta?since=0', inQuery, 'tx', 'ws', 'ws?token=wrong', 'lost']) {
    const { status, headers } = await call(path, 'wrong')
    expect([path, status, headers.get('access-control-allow-origin')]).toEqual([path, 401, '*'])
  }
  const expired = await call('bootstrap', 'token-of-last-year')
  expect(await expired.json()).toMatchObject({ error: { code: 'token_expired' } })
  await backend.stop()
})

test('a body that is too long is refused in the words of the protocol', async () => {
  const response = await call('tx', 'token-of-ada', { txs: ['x'.repeat(1_048_576)] })
  expect(response.status).toBe(413)
  expect(await response.json()).toMatchObject({ error: { code: 'too_large' } })
  await backend.stop()
})

test('`instep conformance` finds nothing that does not hold, and removes what it has made', async () => {
  const tokens = ['--token=token-of-ada', '--other-token=token-of-ben', '--expired-token=token-of-last-year']
  const record = ['--insert={"t":"Issue","p":{"title":"x"}}', '--change={"title":"y","note":"z"}']
  const { code, stdout } = await instep(['conformance', backend.baseUrl, ...tokens, ...record])
  expect([code, stdout]).toEqual([0, expect.not.stringContaining('NOT HELD')])
  const snapshot = await call('bootstrap', 'token-of-ada')
  expect(await snapshot.json()).toMatchObject({ rows: [{ id: '1', p: cable }] })
  await backend.stop()
})
