import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import { createSyncService, type SyncService } from '../../src/server/index.ts'
import { forgetVerdicts } from '../../src/server/log/sql/retention.ts'
import { logsIn } from '../support/postgres-log.ts'
import { at, backendUrl, failure, notes, TestBackend } from '../support/test-backend.ts'

const hour = 3_600_000
const retention = { maxVerdictAgeMs: hour }

let logs: Awaited<ReturnType<typeof logsIn>>
const opened: SyncService[] = []

beforeAll(async () => {
  logs = await logsIn('memory:')
})

afterEach(async () => {
  for (const service of opened.splice(0)) await service.close()
})

afterAll(() => logs.close())

/** A service that keeps results for an hour, a device that is in step with it, and a way to be offline for a time. */
async function forgetful() {
  const backend = new TestBackend()
  const { clock } = backend
  const { log } = await logs.make({ clock, retention })
  const authenticate = async () => ({ userId: 'ada' })
  const service = createSyncService({ database: log, authenticate, ownerField: 'userId', clock })
  opened.push(service)
  const answer = async (request: Request) => {
    const response = await service.fetch(request)
    return new Response(await response.text(), response)
  }
  backend.intercept = (request) => clock.during(answer(request.clone()))
  const device = backend.device()
  const client = await device.live({ environment: { ...device.environment, WebSocket: undefined } })
  const stored = async () => {
    const { rows } = await (await answer(new Request(`${backendUrl}/bootstrap`))).json()
    return rows.map(({ id, p: { userId: _, ...fields } }: WireRow) => ({ id, ...fields }))
  }
  const away = async (ms: number) => {
    await clock.until(client.stop())
    await clock.advance(ms)
    await forgetVerdicts(logs.database.writers, retention, clock.now())
    device.network.mend()
    await clock.until(client.start())
    await clock.advance(5_000)
  }
  return { backend, log, device, client, stored, away }
}

test('a write that waited offline until its result expired is kept in the inbox, and can be retried', async () => {
  const { backend, device, client, stored, away } = await forgetful()
  device.network.cut()
  const add = client.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }), { label: 'Add' })
  const edit = client.mutate((m) => m.update('Note', '1', { n: 1 }), { label: 'Edit' })
  await away(3 * hour)
  expect(device.log).toEqual(['rejected Add expired', 'rejected Edit dependency_rejected'])
  expect([client.status.writes, notes(client)]).toEqual([{ pending: 0, rejected: 2 }, {}])
  expect(await stored()).toEqual([])
  expect(add.records).toMatchObject([{ base: undefined, mine: { title: 'Milk' }, theirs: undefined }])

  await backend.clock.until(client.outbox.retry(add.id).synced)
  await backend.clock.until(client.outbox.retry(edit.id).synced)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  expect(await stored()).toEqual([{ id: '1', title: 'Milk', n: 1 }])
})

test.each([
  ['in time gets its first answer', 0.5 * hour, 'synced', []],
  ['too late is expired, though it happened', 3 * hour, 'rejected', ['rejected Add expired']],
] as const)('a transaction that is sent again %s, and is applied once', async (_, ms, state, told) => {
  const { backend, log, device, client, away } = await forgetful()
  const { intercept } = backend
  backend.intercept = at('tx', async (request, pass) => {
    await intercept(request, pass)
    device.network.cut()
    return failure(502)
  })
  const tx = client.mutate((m) => m.insert('Note', { id: '1', title: 'Milk' }), { label: 'Add' })
  await backend.clock.advance(1_000)
  expect(await log.position()).toMatchObject({ head: 1 })
  backend.intercept = intercept
  await away(ms)
  expect([tx.state, device.log]).toEqual([state, told])
  expect(backend.received).toEqual([tx.id, tx.id])
  expect(await log.position()).toMatchObject({ head: 1 })
  expect(notes(client)).toEqual({ 1: { title: 'Milk' } })
})
