import { expect, test } from 'vitest'
import { ownPostgres } from '../support/own-postgres.ts'
import { openTeam } from './team.ts'

const postgres = ownPostgres()

test('a write reads the records that it changes, and not all records of their type', async () => {
  const team = await openTeam('PostgreSQL', { postgres, name: 'plans' })
  await team.run(
    "insert into issues (id, team_id, title) select 'i' || n, 'red', 'First' from generate_series(1, 5000) n",
  )
  await team.rows('ann')
  await expect.poll(() => team.run('select from instep_change'), { timeout: 30_000 }).toEqual([])
  await team.run('analyze')
  for (let n = 1; n <= 30; n += 1)
    await team.send('ann', [{ op: 'u', t: 'Issue', id: `i${n}`, p: { size: n } }])
  // The connections report what they have read at the latest when they close.
  await team.close()
  const [read] = await team.run(
    "select seq_tup_read::int as rows from pg_stat_user_tables where relname = 'instep_record'",
  )
  expect(Number(read?.rows)).toBeLessThan(100_000)
})
