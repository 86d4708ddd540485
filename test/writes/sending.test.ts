import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, notes, Office } from '../support/office.ts'
import { add, counting, names, noNotes } from '../support/sending.ts'

describe('sending', () => {
  test('invariant 27: transactions go in their order, over restarts and lost answers, and none is passed over', async () => {
    const { office, desk, client } = await noNotes()
    const accepted: string[] = []
    const made: string[] = []
    let turn = 0
    office.intercept = at('tx', async (_, pass) => {
      turn += 1
      if (turn % 3 === 0) return failure(503)
      const response = await pass()
      for (const { id } of (await response.clone().json()).results)
        if (!accepted.includes(id)) accepted.push(id)
      return turn % 3 === 1 ? response : failure(502)
    })
    let running = client
    for (const [n, name] of names(30).entries()) {
      if (n % 4 === 1) desk.network.cut()
      if (n % 4 === 3) desk.network.mend()
      const tx = add(running, name)
      made.push(tx.id)
      await office.clock.until(tx.durable)
      await office.clock.advance(n * 10)
      if (n % 7 !== 6) continue
      await desk.kill()
      running = desk.client()
      await running.start()
    }
    desk.network.mend()
    await office.clock.advance(300_000)
    expect(accepted).toEqual(made)
    expect(Object.keys(await office.rows()).sort()).toEqual(names(30))
    expect(running.status.writes).toEqual({ pending: 0, rejected: 0 })
  })

  test('what is queued goes in batches of a hundred, and no larger than a request should be', async () => {
    const { office, desk, client } = await noNotes()
    desk.network.cut()
    for (const name of names(250)) add(client, name)
    for (const n of [1, 2, 3])
      client.mutate((m) => m.insert('Note', { id: `${n}`, text: 'x'.repeat(120_000) }))
    const { sizes } = counting(office, (_, pass) => pass())
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(sizes).toEqual([100, 100, 52, 1])
    expect(await office.rows()).toEqual(notes(client))
  })

  test('what requires another goes in one batch with it', async () => {
    const { office, desk, client } = await noNotes()
    desk.network.cut()
    const required = add(client, '1')
    client.mutate((m) => m.insert('Note', { id: '2' }), { requires: [required] })
    const { sizes } = counting(office, (_, pass) => pass())
    desk.network.mend()
    await office.clock.advance(60_000)
    expect(sizes).toEqual([2])
  })

  test('what alone is larger than a request should be goes by itself', async () => {
    const { office, desk, client } = await noNotes()
    desk.network.cut()
    const texts = ['', 'x'.repeat(400_000), '']
    const all = texts.map((text) => client.mutate((m) => m.insert('Note', { text })))
    const { sizes } = counting(office, (_, pass) => pass())
    desk.network.mend()
    await office.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(sizes).toEqual([1, 1, 1])
  })

  test('what cannot be stored yet is not sent, and holds up what was made after it', async () => {
    const { office, client } = await noNotes()
    const tx = add(client, '1')
    expect(tx.state).toBe('writing')
    expect(office.received).toEqual([])
    await office.clock.until(tx.synced)
    expect(office.received).toEqual([tx.id])
  })

  test.each([
    ['of 413 without a word', 413, undefined],
    ['of 413', 413, 'too_large'],
    ['with the error of one of them', 422, 'invalid'],
  ])('a batch that is refused by an answer %s is sent in halves', async (_, status, code) => {
    const { office, desk, client } = await noNotes()
    desk.network.cut()
    const all = names(9).map((name) => add(client, name))
    const { sizes } = counting(office, async (request, pass) =>
      JSON.parse(await request.clone().text()).txs.length > 2 ? failure(status, code) : pass(),
    )
    desk.network.mend()
    await office.clock.until(Promise.all(all.map((tx) => tx.synced)))
    expect(sizes).toEqual([9, 5, 3, 2, 2, 2, 2, 1])
    expect(desk.log).toEqual([])
  })

  test('invariant 23: an error body to one transaction alone rejects it, and the others go on', async () => {
    const { office, desk, client } = await noNotes()
    desk.network.cut()
    const made = names(5).map((name) => add(client, name))
    const poison = made[2]
    const rest = made.filter((tx) => tx !== poison)
    counting(office, async (request, pass) =>
      JSON.parse(await request.clone().text()).txs.some(({ id }: { id: string }) => id === poison?.id)
        ? failure(422, 'too_large')
        : pass(),
    )
    desk.network.mend()
    await office.clock.until(Promise.all(rest.map((tx) => tx.synced)))
    expect(poison?.rejection).toMatchObject({ name: 'RejectedError', reason: 'too_large' })
    expect(desk.log).toEqual(['rejected n002 too_large'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 1 })
  })
})

describe('credentials that ended', () => {
  test('invariant 24: a 401 runs the handler once and keeps all, which is sent with the new token', async () => {
    const told: string[] = []
    const { office, desk, client } = await noNotes({ onUnauthenticated: ({ message }) => told.push(message) })
    desk.token = 'expired'
    office.service.revoke(() => true)
    const all = names(3).map((name) => add(client, name))
    await office.clock.advance(600_000)
    expect(told).toHaveLength(1)
    expect(told[0]).not.toContain('expired token')
    expect(all.map(({ state }) => state)).toEqual(['queued', 'queued', 'queued'])
    expect(client.status.writes).toMatchObject({ pending: 3, paused: expect.stringContaining('401') })
    desk.token = 'ada'
    client.resume()
    await office.clock.advance(5_000)
    expect(all.map(({ state }) => state)).toEqual(['synced', 'synced', 'synced'])
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  })

  test('a 401 to a transaction pauses all of syncing, an open socket included, until there are others', async () => {
    const told: string[] = []
    const { office, desk, client } = await noNotes({ onUnauthenticated: ({ message }) => told.push(message) })
    desk.token = 'expired'
    const tx = add(client, '1')
    await office.clock.advance(5_000)
    expect(client.status.connection.state).toBe('unauthenticated')
    expect(told).toHaveLength(1)
    desk.token = 'ada'
    client.resume()
    await office.clock.advance(5_000)
    expect([tx.state, client.status.connection.state]).toEqual(['synced', 'socket'])
  })

  test('a token that the handler gives is used at once, for sending, too', async () => {
    let asked = 0
    const { office, desk, client } = await noNotes({
      onUnauthenticated: async () => {
        asked += 1
        return 'ada'
      },
    })
    desk.token = 'expired'
    const tx = add(client, '1')
    await office.clock.advance(5_000)
    expect([tx.state, asked]).toEqual(['synced', 1])
  })
})

describe('the same transaction', () => {
  test('invariant 21: whose answer was lost is sent again after a restart, and gets the same answer', async () => {
    const { office, desk, client } = await noNotes()
    const answers: unknown[] = []
    office.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      answers.push((await response.clone().json()).results)
      if (answers.length === 1) desk.network.cut()
      return response
    })
    office.push = () => {}
    const tx = add(client, '1')
    await office.clock.advance(1_000)
    await desk.kill()
    // What tells of it by itself comes later than the sending.
    office.intercept = (
      (before) => (request: Request, pass: () => Promise<Response>) =>
        request.url.includes('/delta') && answers.length < 2
          ? Promise.resolve(failure(503))
          : before(request, pass)
    )(office.intercept)
    const again = await desk.live()
    await office.clock.advance(60_000)
    expect(office.received).toEqual([tx.id, tx.id])
    expect(answers[1]).toEqual(answers[0])
    expect((await office.log.position()).head).toBe(1)
    expect(notes(again)).toEqual({ 1: {} })
  })

  test('invariant 19, invariant 39: sent by two clients of one disk at once, it happens once, and both learn it', async () => {
    const office = await Office.open()
    const store = memoryStore()
    const first = office.desk({ store })
    first.network.cut()
    const writer = first.client()
    await writer.start()
    await office.clock.until(add(writer, '1').durable)
    await first.kill()
    const [one, other] = [office.desk({ store }), office.desk({ store })]
    const clients = [one.client(), other.client()]
    await Promise.all(clients.map((client) => client.start()))
    const both = clients.map((client) => client.outbox.list()[0])
    await office.clock.advance(5_000)
    expect(office.received.length).toBe(2)
    expect(new Set(office.received).size).toBe(1)
    expect(both.map((tx) => tx?.state)).toEqual(['synced', 'synced'])
    expect((await office.log.position()).head).toBe(1)
  })

  test('a frame that names it is as good as its answer', async () => {
    const { office, client } = await noNotes()
    office.intercept = at('tx', async (_, pass) => {
      await pass()
      return new Promise(() => {})
    })
    const tx = add(client, '1')
    await office.clock.advance(1_000)
    expect(tx.state).toBe('synced')
    expect(await tx.accepted).toBe(1)
  })
})
