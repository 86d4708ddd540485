import { afterEach, describe, expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam, type Team } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

const schema = [
  'create table notes (id int primary key, team text, text text, deleted_at timestamptz)',
  "insert into notes values (1, 'red', 'One', null), (2, 'red', 'Two', now())",
]

describe.each(kinds)('on %s, with a condition in the mapping', (kind) => {
  const open = async (where = 'deleted_at is null -- not deleted') => {
    const fields = ['text', { deletedAt: 'deleted_at' }]
    const log = { tables: { Note: { table: 'notes', id: 'id', owner: 'team', where, fields } } }
    const team = await openTeam(kind, { postgres, name: 'conditional', schema, log })
    teams.push(team)
    await team.service.ready()
    return team
  }
  const idsOf = async (team: Team) => (await team.rows('ann')).map(({ id }) => id).sort()

  test('a row that is deleted softly is gone for clients, and comes back', async () => {
    const team = await open()
    expect(await idsOf(team)).toEqual(['1'])
    const since = await team.position()
    await team.run('update notes set deleted_at = now() where id = 1')
    await expect.poll(() => team.frames('ann', since)).toMatchObject([{ op: 'd', id: '1' }])
    expect(await idsOf(team)).toEqual([])
    await team.run('update notes set deleted_at = null')
    await expect.poll(() => idsOf(team)).toEqual(['1', '2'])
    expect((await team.frames('ann', since)).slice(-2)).toMatchObject([
      { op: 'i', id: '1', p: { text: 'One' } },
      { op: 'i', id: '2', p: { text: 'Two' } },
    ])
    expect(await team.log.checkTables('teamId')).toMatchObject([{ rows: 2, differing: 0, fault: undefined }])
  })

  test('a client can delete a row softly, and cannot write one that is deleted', async () => {
    const team = await open()
    const since = await team.position()
    const update = (id: string, p: object) => team.send('ann', [{ op: 'u', t: 'Note', id, p }])
    expect(await update('1', { deletedAt: 1 })).toMatchObject({ sid: since + 1 })
    expect(await team.frames('ann', since)).toMatchObject([{ op: 'd', id: '1', tx: expect.any(String) }])
    expect(await update('2', { text: 'Seen' })).toMatchObject({ error: { code: 'not_found' } })
    const insert = await team.send('ann', [{ op: 'i', t: 'Note', id: '2', p: { text: 'New' } }])
    expect(insert).toMatchObject({ error: { code: 'exists' } })
    expect(await team.run('select text from notes order by id')).toEqual([{ text: 'One' }, { text: 'Two' }])
  })
})

test('another condition is another mapping, which has to be attached', async () => {
  const mapping = { table: 'notes', id: 'id', owner: 'team', fields: ['text'] }
  const log = { tables: { Note: mapping } }
  const team = await openTeam('PostgreSQL', { postgres, name: 'conditional', schema, log })
  teams.push(team)
  const [{ name = '' } = {}] = await team.run('select current_database() as name')
  const address = await postgres.database(String(name))
  const other = await openSqlLog(address, { tables: { Note: { ...mapping, where: 'deleted_at is null' } } })
  await expect(other.claim('teamId')).rejects.toThrow(/`tables.Note` is not attached with this mapping/)
  await other.attach('teamId')
  expect((await other.read('Note', '1'))?.p).toEqual({ teamId: 'red', text: 'One' })
  expect(await other.read('Note', '2')).toBeUndefined()
  await other.close()
})
