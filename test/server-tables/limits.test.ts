import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import type { JsonValue, Payload } from '../../src/protocol/json.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, schema, type Team, tables } from './team.ts'

const postgres = ownPostgres()

const documents = [
  `create table documents (
    id text primary key, team_id text not null, price numeric, prices numeric[], content jsonb, text text
  )`,
]
const documentTables = {
  Document: {
    table: 'documents',
    id: 'id',
    owner: 'team_id',
    fields: ['price', 'prices', 'content', 'text'],
  },
}

const tooLarge = { error: { code: 'too_large' } }

/** Resolves once all changes are recorded. */
async function recorded(team: Team): Promise<void> {
  // The first request opens the tables.
  await team.rows('ann')
  await expect.poll(() => team.run('select from instep_change'), { timeout: 30_000 }).toEqual([])
}

describe.each(kinds)('what one write may cost, on %s', (kind) => {
  const open = () =>
    openTeam(kind, { postgres, name: 'limits', schema: documents, log: { tables: documentTables } })
  const openIssues = () => openTeam(kind, { postgres, name: 'cascade' })
  const update = (id: string, p: object) => ({ op: 'u', t: 'Document', id, p })

  test('a short text cannot become a number of many digits', async () => {
    const team = await open()
    await team.run("insert into documents (id, team_id) values ('d', 'red')")
    const invalid = { error: { code: 'invalid' } }
    expect(await team.send('ann', [update('d', { price: '1e131071' })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { price: '1e-16000' })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { prices: ['1', '1E+131071'] })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { price: '1'.repeat(1001) })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { price: `${'1'.repeat(700)}e400` })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { price: `-0.${'1'.repeat(1001)}` })])).toMatchObject(invalid)
    const many = `${'1'.repeat(1000)}.${'1'.repeat(1000)}`
    expect(await team.send('ann', [update('d', { price: many })])).not.toHaveProperty('error')
    expect(await team.send('ann', [update('d', { price: '1.5e20', prices: ['-2'] })])).not.toHaveProperty(
      'error',
    )
    const [row] = await team.rows('ann')
    expect(row?.p.price).toBe('150000000000000000000')
    await team.close()
  })

  test('a text that is too long for an index is too large, and its type goes on', async () => {
    const team = await open()
    await team.run(
      "insert into documents (id, team_id) values ('d', 'red')",
      'create index on documents (text)',
    )
    const hashes = Array.from({ length: 500 }, (_, n) => createHash('sha256').update(`${n}`).digest('hex'))
    expect(await team.send('ann', [update('d', { text: hashes.join('') })])).toMatchObject(tooLarge)
    expect(team.log.faults?.()).toEqual([])
    await team.close()
  })

  test('a write for which the condition of the mapping fails is invalid', async () => {
    const Document = { ...documentTables.Document, where: "(content->>'n')::int is distinct from 1" }
    const team = await openTeam(kind, {
      postgres,
      name: 'condition',
      schema: documents,
      log: { tables: { Document } },
    })
    await team.run("insert into documents (id, team_id) values ('d', 'red')")
    await recorded(team)
    const invalid = { error: { code: 'invalid' } }
    expect(await team.send('ann', [update('d', { content: { n: 'x' } })])).toMatchObject(invalid)
    expect(await team.send('ann', [update('d', { content: { n: '2' } })])).not.toHaveProperty('error')
    await team.close()
  })

  test('a write whose row cannot be read for another reason waits, and others go on', async () => {
    const check = `create function sound(n numeric) returns boolean language plpgsql immutable as
      $$ begin if n = 13 then raise 'deep' using errcode = '54001'; end if; return true; end $$`
    const Document = { ...documentTables.Document, where: 'sound(price)' }
    const team = await openTeam(kind, {
      postgres,
      name: 'unreadable',
      schema: [...documents, check],
      log: { tables: { Document } },
    })
    await team.run("insert into documents (id, team_id) values ('d', 'red')")
    await recorded(team)
    const waits = { error: { code: 'type_unavailable' } }
    expect(await team.send('ann', [update('d', { price: '13' })])).toMatchObject(waits)
    expect(await team.send('ann', [update('d', { price: '14' })])).not.toHaveProperty('error')
    await team.close()
  })

  test('a record that a trigger makes longer than `maxRecordBytes` is too large', async () => {
    const team = await open()
    await team.run(
      "insert into documents (id, team_id) values ('d', 'red')",
      `create function grow() returns trigger language plpgsql as $$ begin
        if new.price is not null then new.text = repeat('x', 1100000); end if; return new; end $$`,
      'create trigger grow before update on documents for each row execute function grow()',
    )
    expect(await team.send('ann', [update('d', { price: '1' })])).toMatchObject(tooLarge)
    expect(await team.send('ann', [update('d', { text: 'short' })])).not.toHaveProperty('error')
    expect(await team.run('select price from documents')).toEqual([{ price: null }])
    await team.close()
  })

  test('a record that is too long already may become shorter', async () => {
    const team = await open()
    await team.run("insert into documents (id, team_id, text) values ('d', 'red', repeat('x', 1200000))")
    expect(await team.send('ann', [update('d', { content: 'x'.repeat(9) })])).toMatchObject(tooLarge)
    const text = 'x'.repeat(1_000_000)
    expect(await team.send('ann', [update('d', { text })])).not.toHaveProperty('error')
    await team.close()
  })

  test('a removal with 10 500 rows by cascade is too large, and is not made', async () => {
    const team = await openIssues()
    await team.run(
      "insert into issues (id, team_id, title) values ('i', 'red', 'First'), ('j', 'red', 'Second')",
      "insert into comments (team, issue, text) select 'red', 'i', 'One of many' from generate_series(1, 10500)",
    )
    await recorded(team)
    expect(await team.send('ann', [{ op: 'd', t: 'Issue', id: 'i' }])).toMatchObject(tooLarge)
    expect(await team.send('ann', [{ op: 'd', t: 'Issue', id: 'j' }])).not.toHaveProperty('error')
    expect(await team.run('select id from issues')).toEqual([{ id: 'i' }])
    await team.close()
  })

  test.runIf(kind === 'PostgreSQL')(
    '`remove` removes an owner with a record whose cascade is too large',
    async () => {
      const team = await openIssues()
      await team.run(
        "insert into issues (id, team_id, title) values ('i', 'red', 'First')",
        "insert into comments (team, issue, text) select 'red', 'i', 'One of many' from generate_series(1, 10500)",
      )
      await recorded(team)
      await team.service.remove({ owner: 'red' })
      expect(await team.run('select id from issues')).toEqual([])
      expect(await team.rows('ann')).toEqual([])
      await team.close()
    },
    60_000,
  )

  test('changes of 9 documents of 1 MB are too large together', async () => {
    const team = await open()
    await team.run(
      "insert into documents (id, team_id, text) select 'd' || n, 'red', repeat('x', 1000000) from generate_series(1, 9) n",
    )
    await recorded(team)
    const updates = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => update(`d${n}`, { price: '1' }))
    expect(await team.send('ann', updates)).toMatchObject(tooLarge)
    expect(await team.send('ann', updates.slice(0, 5))).not.toHaveProperty('error')
    await team.close()
  }, 240_000)

  test('many changes of others that wait count for no transaction', async () => {
    const team = await openIssues()
    await team.run("insert into issues (id, team_id, title) values ('i', 'red', 'First')")
    const [, result] = await Promise.all([
      team.run(
        "insert into comments (team, issue, text) select 'red', 'i', 'One of many' from generate_series(1, 10500)",
      ),
      team.send('ann', [{ op: 'u', t: 'Issue', id: 'i', p: { size: 1 } }]),
    ])
    expect(result).not.toHaveProperty('error')
    expect(await team.send('ann', [{ op: 'u', t: 'Issue', id: 'i', p: { size: 2 } }])).not.toHaveProperty(
      'error',
    )
    await team.close()
  })
})

// PGlite has one connection, so nobody else can hold the lock there.
test('what is too much for one write is refused without the log’s lock', async () => {
  const team = await openTeam('PostgreSQL', {
    postgres,
    name: 'unlocked',
    schema: [...schema, ...documents],
    log: { tables: { ...tables, ...documentTables } },
  })
  await team.run(
    "insert into documents (id, team_id) values ('d', 'red')",
    `create function grow() returns trigger language plpgsql as $$ begin
      if new.price is not null then new.text = repeat('x', 1100000); end if; return new; end $$`,
    'create trigger grow before update on documents for each row execute function grow()',
    "insert into issues (id, team_id, title) values ('i', 'red', 'First')",
    "insert into comments (team, issue, text) select 'red', 'i', 'One of many' from generate_series(1, 10500)",
  )
  await recorded(team)
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const holder = new Client({ connectionString: await postgres.database(String(name)) })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from instep_state for update')
  const update = (p: Payload) => team.service.write([{ op: 'u', t: 'Document', id: 'd', p }])
  const deep: JsonValue = JSON.parse('['.repeat(600) + ']'.repeat(600))
  await expect(update({ price: '1e131071' })).rejects.toMatchObject({ reason: 'invalid' })
  await expect(update({ content: deep })).rejects.toThrow(/nests deeper/)
  await expect(update({ text: 'x'.repeat(1_100_000) })).rejects.toMatchObject({ reason: 'too_large' })
  await expect(update({ price: '1' })).rejects.toMatchObject({ reason: 'too_large' })
  const removal = team.service.write([{ op: 'd', t: 'Issue', id: 'i' }])
  await expect(removal).rejects.toMatchObject({ reason: 'too_large' })

  let isWritten = false
  const small = update({ text: 'short' }).then(() => {
    isWritten = true
  })
  const waiting =
    "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
  await expect.poll(() => team.run(waiting), { timeout: 5_000 }).toHaveLength(1)
  expect(isWritten).toBe(false)
  await holder.query('commit')
  await holder.end()
  await small
  await team.close()
}, 60_000)
