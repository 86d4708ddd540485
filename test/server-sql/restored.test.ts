import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { runPostgres } from '../support/postgres.ts'
import { asService } from './judge.ts'

const postgres = ownPostgres()
let address = ''
let name = ''
let count = 0

beforeEach(async () => {
  count += 1
  name = `kept${count}`
  address = await postgres.database(name)
  const log = await openSqlLog(address)
  await log.write([insert('1')], asService)
  await log.write([insert('2')], asService)
  await log.close()
})

afterEach(() => postgres.run('postgres', `drop database if exists "${name}" with (force)`))

async function historyNow(): Promise<string> {
  const log = await openSqlLog(address)
  const { history } = await log.position()
  await log.close()
  return history
}

const dump = (...args: readonly string[]) => runPostgres('pg_dump', ['--dbname', address, ...args])
const read = (text: string) => {
  runPostgres('psql', ['--dbname', address, '--quiet', '--no-psqlrc', '--set', 'ON_ERROR_STOP=1'], text)
}
const tables = 'instep_state, instep_log, instep_record, instep_verdict'

async function makeAnew(): Promise<void> {
  await postgres.run('postgres', `drop database "${name}"`)
  await postgres.database(name)
}

describe('a PostgreSQL has another history without `newEpoch`', () => {
  test.each<[string, () => Promise<void>]>([
    [
      'a dump was read into a new database of the same name',
      async () => {
        const text = dump()
        await makeAnew()
        read(text)
      },
    ],
    ['a dump replaced the tables in their database', async () => read(dump('--clean'))],
    [
      'a dump replaced the tables of the data alone',
      async () => read(dump('--clean', ...tables.split(', ').flatMap((table) => ['--table', table]))),
    ],
    [
      'the data of a dump was read into the tables as they are',
      async () => {
        const text = dump('--data-only')
        await postgres.run(name, `truncate ${tables}, instep_migration, instep_migration_lock`)
        read(text)
      },
    ],
    [
      'the database was replaced by a copy of it',
      async () => {
        await postgres.run('postgres', `create database copy template "${name}"`)
        await postgres.run('postgres', `drop database "${name}"`)
        await postgres.run('postgres', `alter database copy rename to "${name}"`)
      },
    ],
  ])('invariant 11: after %s', async (_, restore) => {
    const before = await historyNow()
    await restore()
    const after = await historyNow()
    expect(after).not.toBe(before)
    expect(await historyNow()).toBe(after)
  })
})

test('a service notices that a dump replaces its tables while it runs', async () => {
  const log = await openSqlLog(address)
  const { history } = await log.position()
  read(dump('--clean'))
  const after = await log.position()
  expect(after.history).not.toBe(history)
  await log.write([insert('3')], asService)
  expect(await log.position()).toMatchObject({ history: after.history, head: 3 })
  await log.close()
})

describe('a PostgreSQL keeps its history through', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['a crash', () => postgres.crash()],
    ['vacuum full', () => postgres.run(name, 'vacuum (full, freeze)')],
    ['vacuum freeze', () => postgres.run(name, 'vacuum (freeze)')],
    [
      'cluster',
      async () => {
        for (const table of ['instep_state', 'instep_log', 'instep_migration']) {
          await postgres.run(name, `cluster ${table} using ${table}_pkey`)
        }
      },
    ],
    ['reindex', () => postgres.run(name, `reindex database "${name}"`)],
    ['another name for the database', () => rename()],
    [
      'a column that somebody adds',
      () => postgres.run(name, 'alter table instep_state add column more text'),
    ],
  ])('%s', async (_, work) => {
    const before = await historyNow()
    await work()
    expect(await historyNow()).toBe(before)
  })

  async function rename(): Promise<void> {
    await postgres.run('postgres', `alter database "${name}" rename to "${name}_renamed"`)
    name = `${name}_renamed`
    address = await postgres.database(name)
  }
})
