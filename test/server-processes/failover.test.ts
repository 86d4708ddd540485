import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Serving, secret, startServing } from '../cli/command-line.ts'
import { shown } from '../support/device.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { WritingClient } from './writing-client.ts'

const owners = ['ann', 'bob', 'cid']

const postgres = ownPostgres()
let database = ''
let balancer: Balancer
let processes: Serving[] = []
let all: WritingClient[] = []

beforeAll(async () => {
  database = await postgres.database('shared')
})

afterEach(async () => {
  await Promise.all(all.map(({ client }) => client.close()))
  await balancer.close()
  await Promise.all(processes.map((serving) => serving.end('SIGKILL')))
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Two processes behind a balancer, and two clients of each owner before it. */
async function start(): Promise<void> {
  processes = await Promise.all([0, 1].map(() => startServing(['--database', database])))
  balancer = await startBalancer(processes.map(({ url }) => url))
  const names = owners.flatMap((owner) => ['device', 'phone'].map((name) => ({ owner, name })))
  const { url: baseUrl } = balancer
  all = await Promise.all(names.map((who) => WritingClient.start({ ...who, baseUrl, secret })))
  for (const { client } of all) {
    await expect.poll(() => client.status.connection.state).toBe('socket')
  }
  const boards = all.filter(({ name }) => name === 'device')
  await Promise.all(
    boards.map(
      ({ client, owner }) =>
        client.mutate((m) => void m.insert('Board', { id: `${owner}-board`, device: -1, phone: -1 })).synced,
    ),
  )
  for (const { client } of all) await expect.poll(() => client.count('Board')).toBe(1)
}

const transactions = () => all.flatMap((writing) => writing.transactions)
const count = (state: string) => transactions().filter((transaction) => transaction.state === state).length

test('a process killed while clients write through it and another: nothing is lost, and nothing happens twice', async () => {
  await start()
  const [victim] = processes
  if (!victim) throw new Error('There is no process.')
  let writing = true
  const written = Promise.all(
    all.map(async (client) => {
      for (; writing; await pause(20)) if (client.pending < 5) client.write()
    }),
  )
  await expect.poll(() => count('synced')).toBeGreaterThan(40)

  await balancer.silence(victim.url)
  await victim.end('SIGKILL')
  const before = count('synced')
  await expect.poll(() => count('synced')).toBeGreaterThan(before + 40)
  writing = false
  await written
  const sids = new Map<unknown, number>()
  for (const { id, synced } of transactions()) sids.set(id, await synced)

  const frames = await postgres.run('shared', 'select sid, tx, last from instep_log order by sid')
  expect(frames.map(({ sid }) => Number(sid))).toEqual(frames.map((_, index) => index + 1))
  const logged = frames.slice(owners.length)
  expect(logged).toHaveLength(2 * sids.size)
  const lasts = logged.filter(({ last }) => last).map(({ sid, tx }) => [tx, Number(sid)])
  expect(new Map(lasts as [unknown, number][])).toEqual(new Map([...sids].sort(([, a], [, b]) => a - b)))

  for (const { owner, name, client, transactions } of all) {
    await client.sync()
    expect(client.get('Board', `${owner}-board`)?.[name]).toBe(transactions.length - 1)
    for (const t of ['Board', 'Note']) expect(shown(client, t)).toEqual(await recordsOf(owner, t))
  }
})

/** What the database holds of `owner`, in the shape of {@link shown}. */
async function recordsOf(owner: string, t: string) {
  const rows = await postgres.run(
    'shared',
    `select id, p::jsonb - 'userId' as p from instep_record where owner = '${owner}' and t = '${t}'`,
  )
  return Object.fromEntries(rows.map(({ id, p }) => [id, p]))
}
