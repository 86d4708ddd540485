import { expect, test } from 'vitest'
import { ownPostgres } from '../support/own-postgres.ts'
import { kinds, openTeam } from './team.ts'

const postgres = ownPostgres()

test.each(kinds)(
  '%s: a user with many writes at once to one row delays the writes of others by few of them',
  async (kind) => {
    const team = await openTeam(kind, { postgres, name: 'turns', log: { maxWaitMs: 60_000 } })
    await team.run(
      "insert into issues (id, team_id, title) values ('i', 'red', 'First'), ('j', 'blue', 'First')",
    )
    let done = 0
    const update = async (n: number) => {
      await team.send('ann', [{ op: 'u', t: 'Issue', id: 'i', p: { size: n } }])
      done += 1
    }
    const own = Array.from({ length: 50 }, (_, n) => update(n))
    const result = await team.send('ben', [{ op: 'u', t: 'Issue', id: 'j', p: { size: 1 } }])
    const doneBefore = done
    await Promise.all(own)
    expect(result).not.toHaveProperty('error')
    expect(doneBefore).toBeLessThan(15)
    await team.close()
  },
)

test.each(kinds)(
  '%s: many writes of one user that are refused delay the writes of others by few of them',
  async (kind) => {
    const team = await openTeam(kind, { postgres, name: 'turns', log: { maxWaitMs: 60_000 } })
    await team.run(
      "insert into issues (id, team_id, title) values ('i', 'red', 'First'), ('j', 'blue', 'First')",
    )
    let refused = 0
    const update = async () => {
      const result = await team.send('ann', [{ op: 'u', t: 'Issue', id: 'i', p: { title: '' } }])
      if ('error' in result) refused += 1
    }
    const own = Array.from({ length: 50 }, update)
    await team.send('ben', [{ op: 'u', t: 'Issue', id: 'j', p: { size: 1 } }])
    const refusedBefore = refused
    await Promise.all(own)
    expect(refused).toBe(50)
    expect(refusedBefore).toBeLessThan(15)
    await team.close()
  },
)
