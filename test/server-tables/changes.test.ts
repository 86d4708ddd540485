import { afterEach, describe, expect, test } from 'vitest'
import { ownPostgres } from '../support/own-postgres.ts'
import { createdAt, kinds, openTeam, type Team, type TeamOptions } from './team.ts'

const postgres = ownPostgres()
const teams: Team[] = []

afterEach(async () => {
  for (const team of teams.splice(0)) await team.close()
})

describe.each(kinds)('on %s', (kind) => {
  const open = async (options: Partial<TeamOptions> = {}) => {
    const team = await openTeam(kind, { postgres, name: 'changes', ...options })
    teams.push(team)
    await team.service.ready()
    return team
  }
  const fields = (title: string) => ({ teamId: 'red', title, status: 'open', size: null, createdAt })

  test('rows are records, and SQL statements reach the clients of their owner', async () => {
    const team = await open()
    await team.run(
      "insert into issues (id, team_id, title) values ('a', 'red', 'One'), ('b', 'green', 'Two')",
    )
    await expect.poll(() => team.rows('ann')).toMatchObject([{ t: 'Issue', id: 'a', p: fields('One') }])
    const since = await team.position()
    await team.run("update issues set title = 'Uno' where id = 'a'")
    await expect
      .poll(() => team.frames('ann', since))
      .toMatchObject([{ op: 'u', id: 'a', p: { title: 'Uno' } }])
    await team.run("delete from issues where id = 'a'")
    await expect.poll(() => team.rows('ann')).toEqual([])
    expect(await team.rows('cid')).toMatchObject([{ id: 'b' }])
  })

  test('a client writes a row, and its frame has the id of the transaction', async () => {
    const team = await open()
    const result = await team.send('ann', [{ op: 'i', t: 'Issue', id: 'a', p: { title: 'One' } }])
    expect(result).toEqual({ id: 'tx-1', sid: 1 })
    expect(await team.frames('ann')).toMatchObject([
      { sid: 1, op: 'i', id: 'a', tx: 'tx-1', p: fields('One') },
    ])
    await team.send('ann', [{ op: 'u', t: 'Issue', id: 'a', p: { size: 3 } }])
    expect(await team.run('select * from issues')).toMatchObject([{ team_id: 'red', title: 'One', size: 3 }])
    expect(await team.frames('ann', 1)).toMatchObject([{ sid: 2, op: 'u', tx: 'tx-2', p: { size: 3 } }])
  })

  test('more than 10 000 rows at once make no frames, and clients fetch a snapshot', async () => {
    const team = await open()
    await team.run("insert into issues (id, team_id, title) values ('a', 'red', 'One')")
    await expect.poll(() => team.rows('ann')).toHaveLength(1)
    await team.run(
      "insert into issues (id, team_id, title) select n, 'red', 'Many' from generate_series(1, 12000) n",
    )
    await expect.poll(async () => (await team.rows('ann')).length).toBe(12_001)
    await expect(team.frames('ann', 1)).rejects.toThrow(/^410.*too_many_changes/s)
    const since = await team.position()
    await team.run("delete from issues where id <> 'a'")
    await expect.poll(() => team.rows('ann')).toMatchObject([{ id: 'a' }])
    await expect(team.frames('ann', since)).rejects.toThrow(/^410/)
    const head = await team.position()
    await team.run("update issues set title = 'Uno'")
    await expect.poll(() => team.frames('ann', head)).toMatchObject([{ op: 'u', p: { title: 'Uno' } }])
    expect(await team.log.checkTables('teamId')).toMatchObject([{ differing: 0 }, { differing: 0 }])
  })
})
