import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSyncService, openSqlLog } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { called } from './command-line.ts'

const postgres = ownPostgres()
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'instep-tables-'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const tables = { Issue: { table: 'issues', id: 'id', owner: 'team_id', fields: ['title', 'price'] } }

describe.each(['a folder', 'PostgreSQL'])('with %s', (kind) => {
  let database = ''
  let config = ''
  const run = async (...statements: readonly string[]) => {
    const log = await openSqlLog(database)
    for (const statement of statements) await log.sql((query) => query(statement))
    await log.close()
  }

  /** What has a name of Instep in the database, without opening it as Instep would. */
  const left = async () => {
    const text = `select relname::text as name from pg_class where relname like 'instep%'
      union select proname::text from pg_proc where proname like 'instep%'
      union select tgname::text from pg_trigger where tgname like 'instep%'`
    if (kind === 'PostgreSQL') return postgres.run('cli', text)
    const pglite = await PGlite.create(join(database, 'pgdata'))
    const { rows } = await pglite.query(text)
    await pglite.close()
    return rows
  }

  beforeAll(async () => {
    database = kind === 'PostgreSQL' ? await postgres.database('cli') : join(folder, 'data')
    config = join(folder, `${kind.replace(' ', '-')}.mjs`)
    writeFileSync(config, `export default ${JSON.stringify({ database, ownerField: 'teamId', tables })}`)
    await run(
      'create table issues (id int primary key, team_id text, title text, price numeric)',
      "insert into issues values (1, 'red', 'One'), (2, 'red', 'Two')",
    )
  })

  test('commands attach, check, repair and detach tables', async () => {
    const start = async () => {
      const service = createSyncService({
        database,
        ownerField: 'teamId',
        tables,
        authenticate: async () => null,
      })
      await service.ready().finally(() => service.close())
    }
    await expect(start()).rejects.toThrow(
      /`tables.Issue` is not attached with this mapping; run `instep attach`/,
    )
    const attached = await called(['attach', '--config', config])
    expect(attached).toMatchObject({ code: 0, stderr: '' })
    expect(attached.stdout).toContain('Issue: all rows are taken.')
    expect((await called(['list', 'Issue', '--database', database])).stdout).toBe(
      '{"teamId":"red","title":"One","price":null,"id":"1"}\n{"teamId":"red","title":"Two","price":null,"id":"2"}\n',
    )
    expect(await called(['check', '--config', config])).toEqual({
      code: 0,
      stdout: 'Issue: 2 rows, 0 changes waiting, 0 differing.\n',
      stderr: '',
    })
    await start()

    await run("insert into issues select n, 'red', 'Odd', '1e2000' from generate_series(10, 20) n")
    await called(['attach', '--config', config])
    const sentence = 'is set aside, and no client has it. A number in it has more than 1000 digits.'
    const named = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map((id) => `Issue ${id} ${sentence}\n`)
    expect(await called(['check', '--config', config])).toEqual({
      code: 0,
      stdout: `Issue: 2 rows, 0 changes waiting, 0 differing.\n${named.join('')}Issue: 11 rows set aside in total.\n`,
      stderr: '',
    })
    await run('delete from issues where id >= 10')
    await called(['attach', '--config', config])

    await run("update instep_record set p = '{}' where id = '2'")
    const found = await called(['check', '--config', config])
    expect(found).toMatchObject({ code: 1, stdout: 'Issue: 2 rows, 0 changes waiting, 1 differing: 2.\n' })
    expect(await called(['check', '--repair', '--config', config])).toMatchObject({ code: 0 })
    expect(await called(['check', '--config', config])).toMatchObject({ code: 0 })

    expect(await called(['detach', '--config', config])).toMatchObject({ code: 0 })
    expect(await called(['check', '--config', config])).toMatchObject({
      code: 1,
      stderr: 'Issue: It is not attached with this mapping; run `instep attach`.\n',
    })

    expect(await called(['detach', '--all', '--config', config])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('records of the type Issue, which are in Instep alone'),
    })
    await called(['attach', '--config', config])
    await run("insert into instep_record values ('Note', 'n', 'red', 0, '{}')")
    expect(await called(['detach', '--all', '--config', config])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('records of the type Note, which are in Instep alone'),
    })
    await run("delete from instep_record where t = 'Note'")
    const removed = await called(['detach', '--all', '--config', config])
    expect(removed).toMatchObject({ code: 0, stderr: '' })
    expect(removed.stdout).toContain('Everything of Instep is gone from the database.')
    expect(await left()).toEqual([])
    await run('drop table issues')
  }, 480_000)
})

test('the error for a config file without tables is one sentence', async () => {
  const path = join(folder, 'empty.json')
  writeFileSync(path, '{ "database": "./data" }')
  expect(await called(['attach', '--config', path])).toEqual({
    code: 2,
    stdout: '',
    stderr: '`tables` is missing; set it in the file that `--config` names.\n',
  })
  expect(await called(['attach', '--config', join(folder, 'none.mjs')])).toMatchObject({ code: 2 })
})
