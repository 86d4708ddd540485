import { describe, expect, test } from 'vitest'
import { MemoryLog } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { LazyLog } from '../../src/server/log/sql/lazy-log.ts'
import { namesDatabase, openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert, serviceOf } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

describe('a service on a database', () => {
  const open = async () => serviceOf({ database: await postgres.database('service') })

  test('keeps its data and its epoch over a restart', async () => {
    const first = await open()
    await first.service.ready()
    await first.service.write([insert('1', { title: 'é' })])
    const before = await first.json('bootstrap')
    expect(before.rows).toMatchObject([{ id: '1', v: 1, p: { title: 'é' } }])
    await first.service.close()
    const second = await open()
    expect(await second.json('bootstrap')).toEqual(before)
    expect(await second.json('delta?since=0')).toMatchObject({ sid: 1, frames: [{ op: 'i', id: '1' }] })
    await second.service.close()
  })

  test('is refused with another owner field than the first, and shows nobody a record', async () => {
    const database = await postgres.database('owners')
    const first = serviceOf({ database, ownerField: 'organizationId' })
    await first.service.write([{ op: 'i', t: 'Todo', id: '1', p: { organizationId: 'ann' } }])
    await first.service.close()
    const refused = {
      name: 'ConfigurationError',
      option: 'ownerField',
      message:
        "`ownerField` is 'userId', but the records of this database name their owner in 'organizationId'; set `ownerField` to that field, or use another database.",
    }
    const { service, ask } = serviceOf({ database })
    await expect(service.ready()).rejects.toMatchObject(refused)
    await expect(service.write([insert('2')])).rejects.toMatchObject(refused)
    expect((await ask('bootstrap')).status).toBe(500)
    expect((await service.fetch(new Request('https://sync.test/healthz'))).status).toBe(503)
    await service.close()
    const log = await openSqlLog(database)
    const over = serviceOf({ database: log })
    await expect(over.service.ready()).rejects.toMatchObject(refused)
    await over.service.close()
    await expect(log.position()).rejects.toThrow()
    const again = serviceOf({ database, ownerField: 'organizationId' })
    expect(await again.json('bootstrap')).toMatchObject({ count: 0 })
    expect(await again.json('delta?since=0')).toMatchObject({ sid: 1 })
    await again.service.close()
  })

  test('closes a log that was open before, even if it was never used', async () => {
    const log = await openSqlLog(await postgres.database('unused'))
    await serviceOf({ database: log }).service.close()
    await expect(log.position()).rejects.toThrow()
  })
})

test('of processes that first open a database with different owner fields, one is refused', async () => {
  const address = await postgres.database('contested')
  const logs = await Promise.all([openSqlLog(address), openSqlLog(address)])
  const [one, other] = logs
  const claims = await Promise.allSettled([one?.claim('userId'), other?.claim('organizationId')])
  expect(claims.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await Promise.all(logs.map((log) => log.close()))
})

test('a service passes its retention to its log, unless the log is open already', async () => {
  const retention = { maxChanges: 1 }
  const database = await postgres.database('forgetting')
  const { service, clock, ask } = serviceOf({ database, retention })
  await service.write([insert('1')])
  await service.write([insert('2')])
  await eventually(async () => {
    await clock.advance(600_000)
    return (await ask('delta?since=0')).status === 410
  })
  await service.close()
  expect(() => serviceOf({ retention })).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: 'retention' }),
  )
})

test('a service whose database cannot be opened says so at the start, without its password', async () => {
  const { service } = serviceOf({ database: 'postgres://ann:secret@127.0.0.1:1/none' })
  const failed = await service.ready().catch((error) => error)
  expect(failed).toBeInstanceOf(Error)
  expect(failed.message).not.toContain('secret')
  await service.close()
})

test('a database user who may only read and write the tables of another user can serve', async () => {
  const address = await postgres.database('rights')
  await (await openSqlLog(address)).close()
  await postgres.run(
    'rights',
    `create role service login; grant usage on schema public to service;
    grant select, insert, update, delete on all tables in schema public to service`,
  )
  const database = address.replace('postgres@', 'service@')
  const { service, ask, clock } = serviceOf({ database, retention: { maxChanges: 1 } })
  await service.write([insert('1')])
  await service.write([insert('2')])
  expect(await (await ask('bootstrap')).json()).toMatchObject({ sid: 2, count: 2 })
  await eventually(async () => {
    await clock.advance(600_000)
    return (await ask('delta?since=0')).status === 410
  })
  await service.close()
})

test('a PostgreSQL that cannot hold every text is refused at the start', async () => {
  await postgres.run('postgres', "create database latin template template0 encoding 'LATIN1'")
  await expect(openSqlLog(await postgres.database('latin'))).rejects.toMatchObject({
    name: 'ConfigurationError',
    message: expect.stringContaining('LATIN1'),
  })
})

test.each([
  '',
  'mysql://localhost/x',
  'memory',
  'C:\\data',
  './data',
  'postgresql://localhost/x',
  'file:data',
  '"postgres://u:secret@localhost/x"',
  ' postgres://u:secret@localhost/x',
])('these names are taken for a database: %s', async (name) => {
  const isRight = ['memory', 'C:\\data', './data', 'postgresql://localhost/x'].includes(name)
  expect(namesDatabase(name)).toBe(isRight)
  if (!isRight) await expect(openSqlLog(name)).rejects.toMatchObject({ option: 'database' })
})

describe('a lazy log', () => {
  const memory = () => new MemoryLog({ clock: new VirtualClock(), random: seededRandom(1) })
  const late = (open: () => Promise<Log>) => new LazyLog(open, 'userId')

  test('is opened once, at its first use, and sends hints from then on', async () => {
    const opened: Log[] = []
    const log = late(async () => {
      opened.push(memory())
      return opened[0] ?? memory()
    })
    expect(opened).toHaveLength(0)
    let hints = 0
    const undo = log.onHint(() => {
      hints += 1
    })
    await Promise.all([log.write([insert('1')], asService), log.position()])
    expect([opened.length, hints]).toEqual([1, 1])
    undo()
    await log.write([insert('2')], asService)
    expect(hints).toBe(1)
    expect((await log.changes(0, 10)).changes).toHaveLength(2)
    await log.trim(1)
    expect((await log.delta(['ann'], 1)).horizon).toBe(1)
    await log.close()
    await expect(log.position()).rejects.toThrow('closed')
  })

  test('that fails to open is opened again at the next use', async () => {
    let calls = 0
    const log = late(async () => {
      calls += 1
      if (calls === 1) throw new Error('away')
      return memory()
    })
    const undo = log.onHint(() => {})
    await expect(log.position()).rejects.toThrow('away')
    undo()
    expect(await log.position()).toMatchObject({ head: 0 })
    await log.close()
  })

  test('that fails to claim stays open, and claims again at the next use', async () => {
    const log = memory()
    let opened = 0
    const fields: string[] = []
    const claim = async (field: string) => {
      fields.push(field)
      if (fields.length === 1) throw new Error('away')
    }
    const claimed = late(async () => {
      opened += 1
      return Object.assign(log, { claim })
    })
    await expect(claimed.position()).rejects.toThrow('away')
    expect(await claimed.position()).toMatchObject({ head: 0 })
    expect(await claimed.position()).toMatchObject({ head: 0 })
    expect([opened, fields]).toEqual([1, ['userId', 'userId']])
    await claimed.close()
  })
})
