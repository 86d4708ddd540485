import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { forgetVerdicts } from '../../src/server/log/sql/retention.ts'
import { at, failure, notes, Office } from '../support/office.ts'
import { logsIn } from '../support/postgres-log.ts'

const hour = 3_600_000
const retention = { maxVerdictAgeMs: hour }

let logs: Awaited<ReturnType<typeof logsIn>>
const opened: Office[] = []

beforeAll(async () => {
  logs = await logsIn('memory:')
})

afterEach(async () => {
  for (const office of opened.splice(0)) await office.service.close()
})

afterAll(() => logs.close())

/** An office that keeps verdicts for an hour, a desk that is in step with it, and a way to be offline for a time. */
async function forgetful() {
  const office = await Office.open()
  opened.push(office)
  const { clock } = office
  await office.goOnWith((await logs.make({ clock, retention })).log)
  const whole = async (pass: () => Promise<Response>) => {
    const response = await pass()
    return new Response(await response.text(), response)
  }
  office.intercept = (_, pass) => clock.during(whole(pass))
  const desk = office.desk()
  const client = await desk.live()
  const away = async (ms: number) => {
    await clock.until(client.stop())
    await clock.advance(ms)
    await forgetVerdicts(logs.database.writers, retention, clock.now())
    desk.network.mend()
    await clock.until(client.start())
    await clock.advance(5_000)
  }
  return { office, desk, client, away }
}

test('what was written offline for longer than verdicts are kept waits in the inbox, and can be tried anew', async () => {
  const { office, desk, client, away } = await forgetful()
  desk.network.cut()
  const add = client.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }), { label: 'Add' })
  const edit = client.mutate((m) => m.update('Note', '1', { n: 1 }), { label: 'Edit' })
  await away(3 * hour)
  expect(desk.log).toEqual(['rejected Add expired', 'rejected Edit dependency_rejected'])
  expect([client.status.writes, notes(client)]).toEqual([{ pending: 0, rejected: 2 }, {}])
  expect(await office.rows()).toEqual({})
  expect(add.records).toMatchObject([{ base: undefined, mine: { title: 'Milk' }, theirs: undefined }])

  await office.clock.until(client.outbox.retry(add.id).synced)
  await office.clock.until(client.outbox.retry(edit.id).synced)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect([notes(client), await office.rows()]).toEqual(
    Array.from({ length: 2 }, () => ({ 1: { title: 'Milk', n: 1 } })),
  )
})

test.each([
  ['in time gets its first answer', 0.5 * hour, 'synced', []],
  ['too late is expired, though it happened', 3 * hour, 'rejected', ['rejected Add expired']],
] as const)('what is sent again %s, and happens once', async (_, ms, state, log) => {
  const { office, desk, client, away } = await forgetful()
  const { intercept } = office
  office.intercept = at('tx', async (request, pass) => {
    await intercept(request, pass)
    desk.network.cut()
    return failure(502)
  })
  const tx = client.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }), { label: 'Add' })
  await office.clock.advance(1_000)
  expect(await office.log.position()).toMatchObject({ head: 1 })
  office.intercept = intercept
  await away(ms)
  expect([tx.state, desk.log]).toEqual([state, log])
  expect(office.received).toEqual([tx.id, tx.id])
  expect(await office.log.position()).toMatchObject({ head: 1 })
  expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
})
