import { Client } from 'pg'
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { openSqlLog, type SqlLogOptions } from '../../src/server/log/sql/open.ts'
import { insert, serviceOf } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

async function serviceOn(name: string, options: SqlLogOptions = {}) {
  const log = await openSqlLog(await postgres.database(name), options)
  const served = serviceOf({ database: log })
  await served.service.ready()
  return { ...served, log }
}

const askedLater = async (response: Response) => {
  expect(response.status).toBe(503)
  expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0)
  expect(await response.json()).toMatchObject({ error: { code: 'unavailable' } })
}

test.each(['bootstrap', 'delta?since=0'])(
  'a request of %s that gets no connection in time is answered with a temporary failure',
  async (path) => {
    const { log, ask, service, lines } = await serviceOn(`full ${path.length}`, {
      maxReaders: 1,
      maxDeltaReaders: 1,
      maxWaitMs: 1_500,
    })
    await log.write([insert('1')], asService)
    const holder = new Client({ connectionString: await postgres.database(`full ${path.length}`) })
    await holder.connect()
    await holder.query('begin; lock table instep_state')
    const first = ask(path)
    await askedLater(await ask(path))
    await holder.query('rollback')
    await holder.end()
    await first
    expect((await ask(path)).status).toBe(200)
    expect(lines.filter((line) => line.includes('cannot be answered now')).length).toBeGreaterThan(0)
    await service.close()
  },
)

test('a request during which the database goes away gets a temporary failure, and works later', async () => {
  const { log, ask, service } = await serviceOn('away')
  await log.write([insert('1')], asService)
  const holder = new Client({ connectionString: await postgres.database('away') })
  holder.on('error', () => {})
  await holder.connect()
  await holder.query('begin; lock table instep_state')
  const ops = [{ op: 'i', t: 'Todo', id: '2', p: {} }]
  const body = JSON.stringify({ txs: [{ id: 't1', since: 0, ops }] })
  const asked = [ask('delta?since=0'), ask('bootstrap'), ask('tx', { method: 'POST', body })]
  await eventually(async () => {
    const waiting = await postgres.run('away', 'select from pg_locks where not granted')
    return waiting.length === asked.length
  })
  await postgres.crash()
  for (const answer of asked) await askedLater(await answer)
  const again = await ask('tx', { method: 'POST', body })
  expect(await again.json()).toMatchObject({ results: [{ id: 't1', sid: 2 }] })
  await service.close()
})

test('a lost connection is logged once', async () => {
  const told: string[] = []
  const tell = (message: string) => void told.push(message)
  const { log, service } = await serviceOn('lost', { logger: { ...silentLogger, warn: tell, error: tell } })
  await log.write([insert('1')], asService)
  await (await log.delta(['ann'], 0)).batches[Symbol.asyncIterator]().next()
  const held = "from pg_stat_activity where application_name = 'instep' and datname = 'lost'"
  const open = await postgres.run(
    'lost',
    `select pg_terminate_backend(pid) ${held} and query not like 'listen%'`,
  )
  expect(open.length).toBeGreaterThan(1)
  await eventually(async () => told.length > 0 && (await postgres.run('lost', `select ${held}`)).length <= 1)
  await service.close()
  expect(told).toEqual(open.map(() => 'A connection to PostgreSQL is lost.'))
})

test('a read that waits too long for a lock gets a temporary failure', async () => {
  const { ask, service } = await serviceOn('locked', { maxWaitMs: 500 })
  expect((await ask('bootstrap')).status).toBe(200)
  const holder = new Client({ connectionString: await postgres.database('locked') })
  await holder.connect()
  await holder.query('begin; lock table instep_record, instep_log')
  for (const answer of [ask('bootstrap'), ask('delta?since=0')]) await askedLater(await answer)
  await holder.end()
  await eventually(async () => (await ask('bootstrap')).status === 200)
  await service.close()
})

test('a read from a standby gets a temporary failure, and the next one uses another connection', async () => {
  await postgres.database('recovering')
  const run = (sql: string) => postgres.run('recovering', sql)
  await run('create schema standby; alter database recovering set search_path = standby, pg_catalog, public')
  const { ask, service, lines } = await serviceOn('recovering')
  expect((await ask('delta?since=0')).status).toBe(200)
  await run(`create function standby.pg_current_wal_lsn() returns pg_lsn language plpgsql as $$ begin
    raise 'by %,', pg_backend_pid() using errcode = '55000'; end $$`)
  await askedLater(await ask('delta?since=0'))
  const [, pid] = /by (\d+),/.exec(lines.join()) ?? []
  await eventually(async () => (await run(`select from pg_stat_activity where pid = ${pid}`)).length === 0)
  await run('drop function standby.pg_current_wal_lsn()')
  expect((await ask('delta?since=0')).status).toBe(200)
  await service.close()
})

test('a write to a read-only server gets a temporary failure, and works once the server accepts writes', async () => {
  const { ask, service } = await serviceOn('standby')
  const write = (id: string) => {
    const body = JSON.stringify({ txs: [{ id, since: 0, ops: [{ op: 'i', t: 'Todo', id, p: {} }] }] })
    return ask('tx', { method: 'POST', body })
  }
  const health = async () => (await service.fetch(new Request('https://sync.test/healthz'))).status
  expect((await write('a')).status).toBe(200)
  const takeWrites = async (does: boolean) => {
    const readOnly = does ? 'off' : 'on'
    await postgres.run('postgres', `alter database standby set default_transaction_read_only = ${readOnly}`)
  }
  await takeWrites(false)
  await postgres.run(
    'postgres',
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'instep'",
  )
  await eventually(async () => (await ask('delta?since=0')).status === 200)
  await askedLater(await write('b'))
  await askedLater(await write('b'))
  expect(await health()).toBe(503)
  await takeWrites(true)
  await eventually(async () => (await health()) === 200)
  expect(await (await write('b')).json()).toMatchObject({ results: [{ id: 'b', sid: 2 }] })
  await service.close()
})
