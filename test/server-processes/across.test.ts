import { Client } from 'pg'
import { afterEach, expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { type Child, runChild } from '../support/child.ts'
import { shown } from '../support/device.ts'
import { ownPostgres } from '../support/own-postgres.ts'

const postgres = ownPostgres()
const children: Child<{ url: string }>[] = []
const clients: SyncClient[] = []

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
  await Promise.all(children.splice(0).map((child) => child.kill()))
})

/** Two clients of one user, each with a socket to a process of its own. */
async function clientsOfTwoProcesses(database: string, heartbeatMs: number) {
  const start = async () => {
    const child = await runChild<{ url: string }>('test/server-processes/server.ts', [
      database,
      String(heartbeatMs),
    ])
    children.push(child)
    const { url: baseUrl } = await child.next()
    const client = new SyncClient({
      baseUrl,
      token: 'token-of-ann',
      identity: 'ann',
      store: memoryStore(),
      logger: silentLogger,
      pollInterval: 3_600_000,
    })
    clients.push(client)
    await client.start()
    await expect.poll(() => client.status.connection.state).toBe('socket')
    return client
  }
  return Promise.all([start(), start()])
}

/** The notifications that come from `database`. */
async function listen(database: string) {
  const listener = new Client({ connectionString: database })
  await listener.connect()
  const notices: string[] = []
  listener.on('notification', ({ channel }) => notices.push(channel))
  await listener.query('listen instep')
  return { notices, end: () => listener.end() }
}

test('what is written by one process is on the sockets of another by its notification alone', async () => {
  const database = await postgres.database('told')
  const [one, other] = await clientsOfTwoProcesses(database, 3_600_000)
  for (const [id, writer, reader] of [
    ['1', one, other],
    ['2', other, one],
  ] as const) {
    await writer.mutate((m) => void m.insert('Issue', { id, title: 'Cable cut' })).accepted
    await expect.poll(() => shown(reader)[id]).toEqual({ title: 'Cable cut' })
  }
})

test('where the notification is lost, it is there within a heartbeat', async () => {
  const database = await postgres.database('untold')
  await postgres.run(
    'untold',
    `create function public.pg_notify(text, text) returns void language sql as '';
     alter database untold set search_path = public, pg_catalog`,
  )
  const [one, other] = await clientsOfTwoProcesses(database, 500)
  const { notices, end } = await listen(database)
  await one.mutate((m) => void m.insert('Issue', { id: '1', title: 'Cable cut' })).accepted
  await expect.poll(() => shown(other)).toEqual({ 1: { title: 'Cable cut' } })
  await end()
  expect(notices).toEqual([])
})
