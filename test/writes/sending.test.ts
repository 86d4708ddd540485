import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { add, at, counting, failure, inStep, names, notes, TestBackend } from '../support/test-backend.ts'

describe('sending', () => {
  test('invariant 27: transactions are sent in order, across restarts and lost responses, and none is skipped', async () => {
    const { backend, device, client } = await inStep()
    const accepted: string[] = []
    const made: string[] = []
    let turn = 0
    backend.intercept = at('tx', async (_, pass) => {
      turn += 1
      if (turn % 3 === 0) return failure(503)
      const response = await pass()
      for (const { id } of (await response.clone().json()).results)
        if (!accepted.includes(id)) accepted.push(id)
      return turn % 3 === 1 ? response : failure(502)
    })
    let running = client
    for (const [n, name] of names(30).entries()) {
      if (n % 4 === 1) device.network.cut()
      if (n % 4 === 3) device.network.mend()
      const tx = add(running, name)
      made.push(tx.id)
      await backend.clock.until(tx.durable)
      await backend.clock.advance(n * 10)
      if (n % 7 !== 6) continue
      await device.kill()
      running = device.client()
      await running.start()
    }
    device.network.mend()
    await backend.clock.advance(300_000)
    expect(accepted).toEqual(made)
    expect(Object.keys(await backend.rows()).sort()).toEqual(names(30))
    expect(running.status.writes).toEqual({ pending: 0, rejected: 0 })
  })

  test('queued transactions are sent in batches of at most a hundred, within the size limit of a request', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    for (const name of names(250)) add(client, name)
    for (const n of [1, 2, 3])
      client.mutate((m) => m.insert('Note', { id: `${n}`, text: 'x'.repeat(120_000) }))
    const { sizes } = counting(backend, (_, pass) => pass())
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(sizes).toEqual([100, 100, 52, 1])
    expect(await backend.rows()).toEqual(notes(client))
  })

  test('a transaction is sent in one batch with its requirement', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const required = add(client, '1')
    client.mutate((m) => m.insert('Note', { id: '2' }), { requires: [required] })
    const { sizes } = counting(backend, (_, pass) => pass())
    device.network.mend()
    await backend.clock.advance(60_000)
    expect(sizes).toEqual([2])
  })

  test('a transaction that exceeds the size limit of a request is sent alone', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const texts = ['', 'x'.repeat(400_000), '']
    const all = texts.map((text) => client.mutate((m) => m.insert('Note', { text })))
    const { sizes } = counting(backend, (_, pass) => pass())
    device.network.mend()
    await backend.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(sizes).toEqual([1, 1, 1])
  })

  test('a transaction that is not stored yet is not sent, and blocks later ones', async () => {
    const { backend, client } = await inStep()
    const tx = add(client, '1')
    expect(tx.state).toBe('writing')
    expect(backend.received).toEqual([])
    await backend.clock.until(tx.synced)
    expect(backend.received).toEqual([tx.id])
  })

  test.each([
    ['with status 413 and no code', 413, undefined],
    ['with status 413', 413, 'too_large'],
    ['with the error of one of them', 422, 'invalid'],
  ])('a batch that is refused by a response %s is sent in halves', async (_, status, code) => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const all = names(9).map((name) => add(client, name))
    const { sizes } = counting(backend, async (request, pass) =>
      JSON.parse(await request.clone().text()).txs.length > 2 ? failure(status, code) : pass(),
    )
    device.network.mend()
    await backend.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(sizes).toEqual([9, 5, 3, 2, 2, 2, 2, 1])
    expect(device.log).toEqual([])
  })

  test('invariant 23: an error response to a single transaction rejects it, and the others are sent', async () => {
    const { backend, device, client } = await inStep()
    device.network.cut()
    const made = names(5).map((name) => add(client, name))
    const poison = made[2]
    const rest = made.filter((tx) => tx !== poison)
    counting(backend, async (request, pass) =>
      JSON.parse(await request.clone().text()).txs.some(({ id }: { id: string }) => id === poison?.id)
        ? failure(422, 'too_large')
        : pass(),
    )
    device.network.mend()
    await backend.clock.until(Promise.all(rest.map((tx) => tx.synced)))
    expect(poison?.rejection).toMatchObject({ name: 'RejectedError', reason: 'too_large' })
    expect(device.log).toEqual(['rejected n002 too_large'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 1 })
  })
})

describe('credentials that ended', () => {
  test('invariant 24: a 401 runs the handler once and keeps all, which is sent with the new token', async () => {
    const told: string[] = []
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: ({ message }) => told.push(message),
      },
    )
    backend.server.expire('ada')
    const all = names(3).map((name) => add(client, name))
    await backend.clock.advance(600_000)
    expect(told).toHaveLength(1)
    expect(told[0]).not.toContain(device.token)
    expect(all.map(({ state }) => state)).toEqual(['queued', 'queued', 'queued'])
    expect(client.status.writes).toMatchObject({ pending: 3, paused: expect.stringContaining('401') })
    device.token = backend.server.token('ada')
    client.resume()
    await backend.clock.advance(5_000)
    expect(all.map(({ state }) => state)).toEqual(['synced', 'synced', 'synced'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  })

  test('a 401 to a transaction pauses all syncing, including the open socket, until there are new credentials', async () => {
    const told: string[] = []
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: ({ message }) => told.push(message),
      },
    )
    device.token = 'expired'
    const tx = add(client, '1')
    await backend.clock.advance(5_000)
    expect(client.status.connection.state).toBe('unauthenticated')
    expect(told).toHaveLength(1)
    device.token = backend.tokens.ada
    client.resume()
    await backend.clock.advance(5_000)
    expect([tx.state, client.status.connection.state]).toEqual(['synced', 'socket'])
  })

  test('a token from the handler is used at once for sending', async () => {
    let asked = 0
    const { backend, device, client } = await inStep(
      {},
      {
        onUnauthenticated: async () => {
          asked += 1
          return backend.tokens.ada
        },
      },
    )
    device.token = 'expired'
    const tx = add(client, '1')
    await backend.clock.advance(5_000)
    expect([tx.state, asked]).toEqual(['synced', 1])
  })
})

describe('the same transaction', () => {
  test('invariant 21: is sent again after a restart if its response was lost, and gets the same result', async () => {
    const { backend, device, client } = await inStep()
    const answers: unknown[] = []
    backend.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      answers.push((await response.clone().json()).results)
      if (answers.length === 1) device.network.cut()
      return response
    })
    backend.push = () => {}
    const tx = add(client, '1')
    await backend.clock.advance(1_000)
    await device.kill()
    // What tells of it by itself comes later than the sending.
    backend.intercept = (
      (before) => (request: Request, pass: () => Promise<Response>) =>
        request.url.includes('/delta') && answers.length < 2
          ? Promise.resolve(failure(503))
          : before(request, pass)
    )(backend.intercept)
    const again = await device.live()
    await backend.clock.advance(60_000)
    expect(backend.received).toEqual([tx.id, tx.id])
    expect(answers[1]).toEqual(answers[0])
    expect(backend.head).toBe(1)
    expect(notes(again)).toEqual({ 1: {} })
  })

  test('invariant 19, invariant 39: happens once if two clients of one disk send it, and both get the result', async () => {
    const backend = new TestBackend()
    const store = memoryStore()
    const first = backend.device({ store })
    first.network.cut()
    const writer = first.client()
    await writer.start()
    await backend.clock.until(add(writer, '1').durable)
    await first.kill()
    const [one, other] = [backend.device({ store }), backend.device({ store })]
    const clients = [one.client(), other.client()]
    await Promise.all(clients.map((client) => client.start()))
    const both = clients.map((client) => client.outbox.list()[0])
    await backend.clock.advance(5_000)
    expect(backend.received.length).toBe(2)
    expect(new Set(backend.received).size).toBe(1)
    expect(both.map((tx) => tx?.state)).toEqual(['synced', 'synced'])
    expect(backend.head).toBe(1)
  })
})
