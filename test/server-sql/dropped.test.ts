import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { serviceOf } from '../server/harness.ts'
import { type ForgetfulProxy, startForgetfulProxy } from '../support/forgetful-proxy.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { eventually } from './judge.ts'

const maxWaitMs = 1_000

const postgres = ownPostgres()
let proxy: ForgetfulProxy
let made: Awaited<ReturnType<typeof serviceOn>>
let count = 0

beforeEach(async () => {
  count += 1
  const address = new URL(await postgres.database(`dropped_${count}`))
  proxy = await startForgetfulProxy(`${address.searchParams.get('host')}/.s.PGSQL.5432`)
  made = await serviceOn(`postgres://postgres@127.0.0.1:${proxy.port}/dropped_${count}`)
})

afterEach(async () => {
  proxy.swallow(false)
  await made.service.close()
  await proxy.close()
})

async function serviceOn(address: string) {
  const log = await openSqlLog(address, { maxWaitMs })
  const { service, ask } = serviceOf({ database: log })
  const write = async (id: string) => {
    const began = Date.now()
    const body = JSON.stringify({ txs: [{ id, since: 0, ops: [{ op: 'i', t: 'Todo', id, p: {} }] }] })
    const response = await ask('tx', { method: 'POST', body })
    // It may wait for others, and then for the database.
    expect(Date.now() - began).toBeLessThan(3 * maxWaitMs)
    return { status: response.status, body: await response.json() }
  }
  const health = async () => (await service.fetch(new Request('https://sync.test/healthz'))).status
  return { log, service, write, health }
}

/** The statuses of three writes at once. */
const together = async (ids: readonly string[]) =>
  (await Promise.all(ids.map(made.write))).map(({ status }) => status)

test('after a silently dropped connection, writes get a temporary failure, and soon use another connection', async () => {
  expect(await together(['a', 'b', 'c'])).toEqual([200, 200, 200])
  proxy.forget()
  expect(await together(['d', 'e', 'f'])).toEqual([503, 503, 503])
  await eventually(async () => (await together(['d', 'e', 'f'])).every((status) => status === 200))
  expect(await made.log.position()).toMatchObject({ head: 6 })
})

test('a write whose commit got no answer gets a temporary failure, is stored, and causes a hint', async () => {
  await made.write('a')
  let hints = 0
  made.log.onHint(() => {
    hints += 1
  })
  await eventually(() => hints > 0)
  hints = 0
  proxy.forgetAfter('commit')
  expect((await made.write('b')).status).toBe(503)
  proxy.forgetAfter('nothing')
  expect(hints).toBe(1)
  await eventually(async () => (await made.write('b')).status === 200)
  expect((await made.write('b')).body).toMatchObject({ sid: 2, results: [{ id: 'b', sid: 2 }] })
})

test('a process that disappears with the lock of the log blocks others no longer than they wait', async () => {
  proxy.forgetAfter('for update')
  expect((await made.write('a')).status).toBe(503)
  const other = await serviceOn(await postgres.database(`dropped_${count}`))
  await eventually(async () => (await other.write('b')).status === 200)
  await other.service.close()
})

test('health reports when writes get no answer, and when they would again', async () => {
  await made.write('a')
  expect(await made.health()).toBe(200)
  const holder = new Client({ connectionString: await postgres.database(`dropped_${count}`) })
  await holder.connect()
  await holder.query('begin; select from instep_state for update')
  expect(await together(['b', 'c', 'd'])).toEqual([503, 503, 503])
  expect(await made.health()).toBe(503)
  await holder.end()
  await eventually(async () => (await made.health()) === 200)
  expect((await made.write('b')).status).toBe(200)
})

test('the log closes within seconds, even if no connection answers', async () => {
  await made.write('a')
  proxy.swallow(true)
  proxy.forget()
  const writing = made.write('b')
  await made.service.close()
  expect((await writing).status).toBe(503)
}, 15_000)
