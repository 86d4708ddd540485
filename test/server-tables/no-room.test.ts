import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prometheusMetrics } from '../../src/server/index.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { healthOf, kinds, openTeam, type Team } from './team.ts'

/* A database that has no room for writes, as on a full disk. */

const postgres = ownPostgres()

const refuse = [
  `create function no_room() returns trigger language plpgsql as
    $$ begin raise 'could not extend file "base/1": No space left on device' using errcode = '53100'; end $$`,
  'create trigger no_room before insert on instep_log for each row execute function no_room()',
]

describe.each(kinds)('on %s, a database without room', (kind) => {
  let team: Team
  const lines: string[] = []

  beforeAll(async () => {
    const note = (message: string, details?: object) =>
      void lines.push(`${message} ${JSON.stringify(details)}`)
    const logger = { debug() {}, info: note, warn: note, error: note }
    const service = { logger, metrics: prometheusMetrics() }
    team = await openTeam(kind, { postgres, name: 'no_room', log: { logger }, service })
    await team.send('ann', [{ op: 'i', t: 'Issue', id: 'a', p: { teamId: 'red', title: 'One' } }])
    await team.run(...refuse)
  })

  afterAll(() => team.close())

  const metrics = async () => (await team.service.fetch(new Request('https://sync.test/metrics'))).text()
  const note = { op: 'i', t: 'Note', id: 'n', p: { teamId: 'red', text: 'Kept' } }
  const issue = { op: 'u', t: 'Issue', id: 'a', p: { title: 'Two' } }

  test.each([
    ['a record', note],
    ['a row', issue],
  ])('answers a write of %s with 503', async (_, op) => {
    await expect(team.send('ann', [op], { id: `tx of ${op.id}` })).rejects.toThrow(/^503/)
  })

  test('serves reads', async () => {
    expect(await team.rows('ann')).toMatchObject([{ t: 'Issue', id: 'a', p: { title: 'One' } }])
    expect(await team.frames('ann')).toMatchObject([{ t: 'Issue', id: 'a', op: 'i' }])
  })

  test('is named by `/healthz`, `/metrics` and, once, by the log', async () => {
    expect(await healthOf(team.service)).toBe('{"status":"degraded"}')
    expect(await metrics()).toContain('instep_log_writable 0')
    expect(lines.filter((line) => line.startsWith('The database has no room for writes'))).toHaveLength(1)
  })

  test('takes the same writes once there is room, and everything is well again', async () => {
    await team.run('drop trigger no_room on instep_log')
    for (const op of [note, issue])
      expect(await team.send('ann', [op], { id: `tx of ${op.id}` })).toMatchObject({
        sid: expect.any(Number),
      })
    expect(await team.rows('ann')).toMatchObject([
      { t: 'Note', p: { text: 'Kept' } },
      { t: 'Issue', p: { title: 'Two' } },
    ])
    expect(await healthOf(team.service)).toBe('{"status":"ok"}')
    expect(await metrics()).toContain('instep_log_writable 1')
    expect(lines.join()).toContain('The database has room for writes again.')
  })
})
