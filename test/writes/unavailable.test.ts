import { expect, test } from 'vitest'
import type { TxResponse } from '../../src/protocol/tx.ts'
import { add, at, inStep, type TestBackend } from '../support/test-backend.ts'

/* The server cannot decide about some transactions, which is no verdict. */

const reason = 'Records of the type Note cannot be written at the moment.'

/** Lets the server decide only about transactions whose records are none of `ids`. Returns the ids of each request. */
function unavailable(backend: TestBackend, ids: ReadonlySet<string>): readonly (readonly string[])[] {
  const requests: string[][] = []
  backend.intercept = at('tx', async (request, pass) => {
    const body = await request.clone().json()
    const isHeld = (tx: { ops: { id: string }[] }) => tx.ops.some(({ id }) => ids.has(id))
    const held = body.txs.filter(isHeld)
    const rest = body.txs.filter((tx: Parameters<typeof isHeld>[0]) => !isHeld(tx))
    requests.push(body.txs.map((tx: { ops: { id: string }[] }) => tx.ops[0]?.id ?? ''))
    const error = { code: 'type_unavailable', message: reason }
    const results = held.map(({ id }: { id: string }) => ({ id, error, retryAfter: 5 }))
    if (rest.length === 0) return Response.json({ sid: 0, results })
    if (held.length === 0) return pass()
    const more = { method: 'POST', headers: request.headers, body: JSON.stringify({ ...body, txs: rest }) }
    const response = await backend.server.fetch(new Request(request.url, more))
    const answer: TxResponse = await response.json()
    return Response.json({ ...answer, results: [...results, ...answer.results] })
  })
  return requests
}

test('a transaction that the server cannot decide about waits alone, and is accepted once it can', async () => {
  const { backend, client } = await inStep()
  const ids = new Set(['1'])
  unavailable(backend, ids)
  const held = add(client, '1')
  const other = add(client, '2')
  await backend.clock.until(other.synced)
  await backend.clock.advance(100)
  expect(held.state).toBe('queued')
  expect(client.status.writes).toEqual({ pending: 1, rejected: 0, paused: reason })
  const later = add(client, '3')
  await backend.clock.until(later.synced)
  expect(client.get('Note', '1')).toBeDefined()
  ids.clear()
  await backend.clock.until(held.synced)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
})

test('what requires a transaction that waits, or changes its records, waits with it', async () => {
  const { backend, client } = await inStep()
  const ids = new Set(['1'])
  const requests = unavailable(backend, ids)
  add(client, '1')
  await backend.clock.advance(1_000)
  const change = client.mutate((m) => m.update('Note', '1', { text: 'Changed' }))
  await backend.clock.advance(1_000)
  expect(requests).toEqual([['1']])
  expect(change.state).toBe('queued')
  ids.clear()
  await backend.clock.until(change.synced)
  expect(await backend.rows()).toMatchObject({ 1: { text: 'Changed' } })
})

test('a transaction that waits is sent again every few seconds', async () => {
  const { backend, client } = await inStep()
  const requests = unavailable(backend, new Set(['1']))
  add(client, '1')
  await backend.clock.advance(60_000)
  expect(requests.length).toBeGreaterThan(7)
  expect(requests.length).toBeLessThan(14)
})
