import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { add, at, counting, failure, inStep, names } from '../support/test-backend.ts'

describe('an endpoint that takes no transactions', () => {
  test.each([
    ['404', () => failure(404)],
    ['405', () => failure(405)],
    ['501', () => failure(501)],
    ['403 of a portal', () => new Response('<html>Sign in</html>', { status: 403 })],
    ['403 of its own', () => failure(403, 'forbidden')],
    ['a 422 that is not the protocol’s', () => failure(422)],
  ])(
    'invariant 23, invariant 24: %s rejects and loses no transaction, and is asked again later',
    async (_, answer) => {
      const { backend, device, client } = await inStep()
      const { times } = counting(backend, async () => answer())
      const tx = add(client, '1')
      await backend.clock.advance(10_000)
      expect(client.status.writes).toMatchObject({
        pending: 1,
        rejected: 0,
        paused: expect.stringContaining('/tx'),
      })
      expect([tx.state, client.get('Note', '1'), times.length]).toEqual(['queued', { id: '1' }, 1])
      add(client, '2')
      device.toFront()
      await backend.clock.advance(280_000)
      expect(times).toHaveLength(1)
      await backend.clock.advance(60_000)
      expect([2, 3]).toContain(times.length)

      backend.intercept = (_request, pass) => pass()
      await backend.clock.advance(400_000)
      expect(tx.state).toBe('synced')
      expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
      expect(Object.keys(await backend.rows())).toEqual(['1', '2'])
    },
  )

  test('a web page with status 200 is no response: nothing is lost, and the client asks again soon', async () => {
    const { backend, device, client } = await inStep()
    const { times } = counting(backend, async () => new Response('<html>Sign in</html>'))
    const tx = add(client, '1')
    await backend.clock.advance(120_000)
    expect(tx.state).toBe('queued')
    expect(times.length).toBeGreaterThan(3)
    expect(new Set(device.log)).toEqual(new Set(['error ProtocolError not_json']))
    backend.intercept = (_request, pass) => pass()
    await backend.clock.until(tx.synced)
  })

  test.each([
    ['resume', async (client: SyncClient) => client.resume()],
    ['start after stop', async (client: SyncClient) => client.stop().then(() => client.start())],
  ])('%s makes the client ask again at once', async (_, act) => {
    const { backend, client } = await inStep()
    backend.intercept = at('tx', async () => failure(404))
    const tx = add(client, '1')
    await backend.clock.advance(1_000)
    backend.intercept = (_request, pass) => pass()
    await backend.clock.until(act(client))
    await backend.clock.advance(1_000)
    expect(tx.state).toBe('synced')
  })

  test('a token from the handler is used at once', async () => {
    const { backend, client } = await inStep({}, { onUnauthenticated: () => backend.server.token('ada') })
    backend.intercept = at('tx', async () => failure(403, 'forbidden'))
    const tx = add(client, '1')
    await backend.clock.advance(1_000)
    backend.intercept = (_request, pass) => pass()
    backend.server.expire('ada')
    await backend.clock.advance(20_000)
    expect(tx.state).toBe('synced')
  })
})

describe('a server that fails', () => {
  test.each([
    ['500', async () => failure(500)],
    ['503', async () => failure(503)],
    ['429', async () => failure(429)],
    ['408', async () => failure(408)],
    ['an error body of 500', async () => failure(500, 'internal')],
    ['nothing', async () => Promise.reject(new TypeError('fetch failed'))],
  ])('invariant 25: %s keeps all, and is asked again after waits that grow', async (_, answer) => {
    const { backend, client } = await inStep()
    const { times } = counting(backend, answer)
    const tx = add(client, '1')
    await backend.clock.advance(600_000)
    expect(tx.state).toBe('queued')
    expect(client.status.writes).toMatchObject({ pending: 1, rejected: 0 })
    const waits = times.slice(1).map((time, n) => time - (times[n] ?? 0))
    expect(waits.length).toBeGreaterThan(20)
    expect(waits.length).toBeLessThan(90)
    expect(Math.max(...waits.slice(8))).toBeGreaterThan(15_000)
    expect(new Set(waits.slice(8)).size).toBeGreaterThan(5)
    backend.intercept = (_request, pass) => pass()
    await backend.clock.until(tx.synced)
  })

  test('invariant 25: the client waits at least as long as Retry-After says, whatever happens meanwhile', async () => {
    const { backend, device, client } = await inStep()
    const { times } = counting(backend, async () => failure(503, undefined, { 'Retry-After': '120' }))
    add(client, '1')
    await backend.clock.advance(1_000)
    add(client, '2')
    device.environment.lifecycle.set({ online: false })
    device.environment.lifecycle.set({ online: true })
    await backend.clock.advance(118_000)
    expect(times).toHaveLength(1)
    await backend.clock.advance(40_000)
    expect(times).toHaveLength(2)
  })

  test('a network that comes back is used within 4 s', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const tx = add(client, '1')
    await backend.clock.advance(600_000)
    device.network.mend()
    device.environment.lifecycle.set({ online: false })
    device.environment.lifecycle.set({ online: true })
    await backend.clock.advance(4_100)
    expect(tx.state).toBe('synced')
  })

  test('a response without results of the sent transactions counts as none', async () => {
    const { backend, device, client } = await inStep()
    backend.intercept = at('tx', async () =>
      Response.json({ sid: 5, results: [{ id: 'another', sid: 5 }, 'x'] }),
    )
    const tx = add(client, '1')
    await backend.clock.advance(10_000)
    expect(tx.state).toBe('queued')
    expect(new Set(device.log)).toEqual(new Set(['error ProtocolError bad_envelope']))
    backend.intercept = (_request, pass) => pass()
    await backend.clock.until(tx.synced)
  })

  test('a result that is missing from a response is asked for again at once', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const all = names(3).map((name) => add(client, name))
    const { sizes } = counting(backend, async (_, pass) => {
      const { sid, results } = await (await pass()).json()
      return Response.json({ sid, results: results.slice(-1) })
    })
    device.network.mend()
    await backend.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(sizes).toEqual([3, 2, 1])
    expect(device.log).toEqual([])
  })

  test('a result with an error is a rejection, even with a `sid`', async () => {
    const { backend, client } = await inStep()
    const error = { code: 'conflict', message: 'No.' }
    backend.intercept = at('tx', async (request) => {
      const { txs } = JSON.parse(await request.clone().text())
      return Response.json({ sid: 5, results: txs.map(({ id }: { id: string }) => ({ id, sid: 5, error })) })
    })
    const tx = add(client, '1')
    await backend.clock.advance(10_000)
    expect([tx.state, tx.rejection?.reason]).toEqual(['rejected', 'conflict'])
  })
})

describe('a proxy that refuses requests because of their size', () => {
  /** Refuses bodies of more than `maxChars` characters. */
  async function behindProxy(maxChars: number) {
    const scene = await inStep()
    scene.backend.intercept = at('tx', async (request, pass) =>
      (await request.clone().text()).length > maxChars
        ? new Response('<html>Too large</html>', { status: 413 })
        : pass(),
    )
    return scene
  }

  const note = (client: SyncClient, id: string, text: string) =>
    client.mutate((m) => m.insert('Note', { id, text }))

  test('invariant 23: the write that is too large is rejected, and the writes after it are sent', async () => {
    const { backend, client } = await behindProxy(100_000)
    const large = note(client, 'large', 'x'.repeat(300_000))
    const small = names(10).map((id) => add(client, id))
    await backend.clock.advance(30_000)
    expect(large.rejection?.reason).toBe('too_large')
    expect(new Set(small.map(({ state }) => state))).toEqual(new Set(['synced']))
  })

  test('a write rejected as too large is sent after a retry with less data', async () => {
    const { backend, client } = await behindProxy(100_000)
    const large = note(client, 'large', 'x'.repeat(300_000))
    await backend.clock.advance(10_000)
    const retried = client.outbox.retry(large.id, (m) => m.insert('Note', { id: 'large', text: 'short' }))
    await backend.clock.until(retried.synced)
    expect(Object.keys(await backend.rows())).toEqual(['large'])
  })

  test('small writes wait behind a proxy that refuses them all', async () => {
    const { backend, client } = await behindProxy(10)
    const transactions = names(3).map((id) => add(client, id))
    await backend.clock.advance(60_000)
    expect(new Set(transactions.map(({ state }) => state))).toEqual(new Set(['queued']))
    expect(client.status.writes.paused).toContain('413')
  })

  test('invariant 23: a write that the server has carried out is not rejected for what a proxy says later', async () => {
    const { backend, client } = await inStep()
    backend.push = () => {}
    let requests = 0
    backend.intercept = at('tx', async (_, pass) => {
      requests += 1
      if (requests > 1) return new Response('<html>Too large</html>', { status: 413 })
      await pass()
      // The data comes as a snapshot, which names no transactions.
      await backend.server.trim(backend.head)
      throw new TypeError('The response got lost.')
    })
    const tx = add(client, '1')
    await backend.clock.advance(60_000)
    expect(requests).toBe(2)
    expect(tx.state).not.toBe('rejected')
    backend.intercept = (_request, pass) => pass()
    await backend.clock.advance(300_000)
    expect(tx.state).toBe('synced')
  })
})

test('a pause ends when a read succeeds after one has failed', async () => {
  const { backend, device, client } = await inStep()
  const portal = async () => new Response('<html>Sign in</html>', { status: 403 })
  backend.intercept = portal
  device.network.killSockets()
  const tx = add(client, '1')
  await backend.clock.advance(60_000)
  expect(tx.state).toBe('queued')
  backend.intercept = (_request, pass) => pass()
  await backend.clock.until(client.sync())
  await backend.clock.advance(1_000)
  expect(tx.state).toBe('synced')
})
