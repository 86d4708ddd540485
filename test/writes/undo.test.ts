import { describe, expect, test } from 'vitest'
import { at, failure, notes, Office } from '../support/office.ts'

async function open() {
  const office = await Office.open()
  await office.insert('1', { title: 'Milk', n: 1 })
  const desk = office.desk()
  return { office, desk, client: await desk.live() }
}

type Writing = Parameters<Awaited<ReturnType<typeof open>>['client']['mutate']>[0]

const kinds: { readonly [kind: string]: Writing } = {
  insert: (m) => m.insert('Note', { id: '2', title: 'Bread' }),
  update: (m) => m.update('Note', '1', { title: 'Oat milk', more: true }),
  'put of what is there': (m) => m.put('Note', { id: '1', other: 1 }),
  'put of what is not': (m) => m.put('Note', { id: '2', title: 'Bread' }),
  delete: (m) => m.delete('Note', '1'),
  'all of them': (m) => {
    m.delete('Note', '1')
    m.insert('Note', { id: '1', title: 'Again' })
    m.insert('Note', { id: '2', n: 1 })
    m.update('Note', '2', { n: 2 })
    m.put('Note', { id: '3' })
    m.delete('Note', '3')
  },
}

describe.each(Object.keys(kinds))('undoing %s', (kind) => {
  const body: Writing = kinds[kind] ?? (() => {})

  test('before it is sent takes it back without a trace', async () => {
    const { office, desk, client } = await open()
    const before = notes(client)
    await client.stop()
    const tx = client.mutate(body)
    await office.clock.until(tx.durable)
    expect(tx.state).toBe('queued')
    expect(await office.clock.until(tx.undo())).toBeUndefined()
    expect([tx.state, client.outbox.list(), notes(client)]).toEqual(['cancelled', [], before])
    await expect(tx.accepted).rejects.toMatchObject({ name: 'RejectedError', reason: 'cancelled' })
    await desk.kill()
    const again = await desk.live()
    await office.clock.advance(10_000)
    expect([notes(again), office.received]).toEqual([before, []])
  })

  test('that may have been sent, though no answer came, takes another transaction', async () => {
    const { office, desk, client } = await open()
    const before = notes(client)
    let lost = false
    office.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      if (lost) return response
      lost = true
      return failure(503)
    })
    office.push = () => {}
    const tx = client.mutate(body)
    await office.clock.advance(100)
    expect(tx.state).toBe('queued')
    const inverse = await office.clock.until(tx.undo())
    expect(notes(client)).toEqual(before)
    await office.clock.until(inverse?.synced ?? Promise.reject())
    await office.clock.advance(60_000)
    expect([tx.state, notes(client), await office.rows()]).toEqual(['synced', before, before])
    await desk.kill()
  })

  test('that was not sent before a restart takes it back without a trace', async () => {
    const { office, desk, client } = await open()
    const before = notes(client)
    await client.stop()
    const tx = client.mutate(body)
    await office.clock.until(tx.durable)
    await desk.kill()
    const again = desk.client()
    await office.clock.until(again.sync())
    const restored = again.outbox.get(tx.id)
    expect(await office.clock.until(restored?.undo() ?? Promise.reject())).toBeUndefined()
    expect([restored?.state, again.outbox.list(), notes(again)]).toEqual(['cancelled', [], before])
    await desk.kill()
    expect(notes(await desk.live())).toEqual(before)
    await office.clock.advance(60_000)
    expect([office.received, await office.rows()]).toEqual([[], before])
  })

  test.each(['before the request left', 'before the answer came'])(
    'when the process died %s takes another transaction after a restart',
    async (moment) => {
      const { office, desk, client } = await open()
      const before = notes(client)
      desk.network.latencyMs = 500
      office.push = () => {}
      office.intercept = at('tx', async () => failure(503))
      const tx = client.mutate(body)
      await office.clock.until(tx.durable)
      await office.clock.advance(moment === 'before the request left' ? 0 : 700)
      expect(tx.state).toBe('sending')
      await desk.kill()
      expect(office.received).toEqual(moment === 'before the request left' ? [] : [tx.id])
      desk.network.latencyMs = 10
      office.intercept = (_, pass) => pass()
      office.push = (message, send) => send(message)
      desk.network.cut()
      const again = await desk.live()
      const inverse = await office.clock.until(again.outbox.get(tx.id)?.undo() ?? Promise.reject())
      expect([inverse?.state, notes(again)]).toEqual(['queued', before])
      desk.network.mend()
      await office.clock.advance(60_000)
      expect([notes(again), await office.rows()]).toEqual([before, before])
    },
  )

  test('while it is stored takes it back without a trace', async () => {
    const { office, client } = await open()
    const before = notes(client)
    const tx = client.mutate(body)
    expect(tx.state).toBe('writing')
    expect(await office.clock.until(tx.undo())).toBeUndefined()
    await office.clock.advance(10_000)
    expect([tx.state, notes(client), office.received]).toEqual(['cancelled', before, []])
  })

  test.each(['sending', 'accepted', 'synced'])('once it is %s takes another transaction', async (state) => {
    const { office, client } = await open()
    const before = notes(client)
    if (state !== 'synced') office.push = () => {}
    if (state === 'sending') {
      office.intercept = at('tx', async (_, pass) => {
        await new Promise<void>((resolve) => void office.clock.after(500, resolve))
        return pass()
      })
    }
    const tx = client.mutate(body, { label: 'Write' })
    await office.clock.until<unknown>(
      state === 'sending' ? tx.durable : state === 'accepted' ? tx.accepted : tx.synced,
    )
    expect(tx.state).toBe(state)
    const inverse = await office.clock.until(tx.undo())
    expect(inverse?.label).toBe('Write')
    expect(notes(client)).toEqual(before)
    await office.clock.until(inverse?.synced ?? Promise.reject())
    await office.clock.advance(60_000)
    expect([notes(client), await office.rows()]).toEqual([before, before])
  })

  test('and doing it again, step by step, on and offline', async () => {
    const { office, desk, client } = await open()
    const before = notes(client)
    for (const isOnline of [true, false, true]) {
      if (isOnline) desk.network.mend()
      else desk.network.cut()
      await office.clock.advance(60_000)
      client.mutate(body)
      const after = notes(client)
      for (let n = 0; n < 3; n += 1) {
        if (isOnline) await office.clock.advance(20_000)
        expect(await office.clock.until(client.undo())).toBe(true)
        expect(notes(client)).toEqual(before)
        if (isOnline) await office.clock.advance(20_000)
        expect(await office.clock.until(client.redo())).toBe(true)
        expect(notes(client)).toEqual(after)
      }
      await office.clock.until(client.undo())
    }
    await office.clock.advance(60_000)
    expect([notes(client), await office.rows()]).toEqual([before, before])
    expect(client.outbox.list()).toEqual([])
  })
})

describe('undo', () => {
  test('of one that another client of the same data has sent takes it back there, too', async () => {
    const { office, desk, client } = await open()
    await client.stop()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 5 }))
    await office.clock.until(tx.durable)
    await office.clock.until(desk.live())
    expect([tx.state, await office.rows()]).toEqual(['queued', { 1: { title: 'Milk', n: 5 } }])
    const inverse = await office.clock.until(tx.undo())
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
    await client.start()
    await office.clock.advance(10_000)
    expect([tx.state, inverse?.state, client.outbox.list()]).toEqual(['synced', 'synced', []])
    expect(await office.rows()).toEqual(notes(client))
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('restores only fields that still hold what was written', async () => {
    const { office, client } = await open()
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine', n: 2 }))
    await office.clock.until(tx.synced)
    await office.update('1', { title: 'theirs' })
    await office.clock.advance(1_000)
    await office.clock.until((await tx.undo())?.synced ?? Promise.reject())
    expect(await office.rows()).toEqual({ 1: { title: 'theirs', n: 1 } })
    expect(await tx.undo()).toBeUndefined()
  })

  test('of a rejected one does nothing', async () => {
    const { office, client } = await open()
    office.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await office.clock.advance(1_000)
    expect([tx.state, await tx.undo(), await client.undo()]).toEqual(['rejected', undefined, false])
    expect(client.outbox.list()).toEqual([tx])
  })

  test('of one that was rejected, and tried anew, takes back what took its place', async () => {
    const { office, client } = await open()
    const title = () => client.get('Note', '1')?.title
    office.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'Bread' }))
    await office.clock.advance(1_000)
    expect([tx.state, client.canUndo]).toEqual(['rejected', false])
    office.intercept = (_, pass) => pass()
    client.outbox.retry(tx.id)
    expect([title(), client.canUndo]).toEqual(['Bread', true])
    expect([await office.clock.until(client.undo()), title()]).toEqual([true, 'Milk'])
    expect([await office.clock.until(client.redo()), title()]).toEqual([true, 'Bread'])
    await office.clock.advance(1_000)
    expect(await office.rows()).toEqual({ 1: { title: 'Bread', n: 1 } })
  })

  test('that was rejected, and tried anew, is done again by taking back what took its place', async () => {
    const { office, client } = await open()
    const title = () => client.get('Note', '1')?.title
    await office.clock.until(client.mutate((m) => m.update('Note', '1', { title: 'Bread' })).synced)
    office.intercept = at('tx', async () => failure(422, 'invalid'))
    await client.undo()
    await office.clock.advance(1_000)
    const [inverse] = client.outbox.list({ state: 'rejected' })
    office.intercept = (_, pass) => pass()
    client.outbox.retry(inverse?.id ?? '')
    expect(title()).toBe('Milk')
    expect([await office.clock.until(client.redo()), title()]).toEqual([true, 'Bread'])
  })

  test('and redo say whether there is something, and that this has changed', async () => {
    const { office, client } = await open()
    const told: (readonly [boolean, boolean])[] = []
    const look = () => {
      const now = [client.canUndo, client.canRedo] as const
      if (String(now) !== String(told.at(-1))) told.push(now)
    }
    look()
    client.outbox.subscribe(look)
    await office.clock.until(client.mutate((m) => m.update('Note', '1', { n: 2 })).synced)
    await office.update('1', { n: 3 })
    await office.clock.advance(1_000)
    // There is nothing left of it to take back.
    await client.undo()
    await client.redo()
    expect(told).toEqual([
      [false, false],
      [true, false],
      [false, true],
      [true, false],
    ])
  })

  test('of one that is rejected later goes with it', async () => {
    const { office, client } = await open()
    office.intercept = at('tx', async () => {
      await new Promise<void>((resolve) => void office.clock.after(500, resolve))
      return failure(422, 'invalid')
    })
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await office.clock.until(tx.durable)
    const inverse = await tx.undo()
    await office.clock.advance(1_000)
    expect([tx.rejection?.reason, inverse?.rejection?.reason]).toEqual(['invalid', 'dependency_rejected'])
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('takes transactions of one group together, the last first', async () => {
    const { office, client } = await open()
    const write = (title: string, group?: string) =>
      client.mutate((m) => m.update('Note', '1', { title }), group === undefined ? {} : { group })
    write('a')
    await office.clock.until(write('ab', 'typing').synced)
    write('abc', 'typing')
    write('abcd', 'typing')
    const titles = () => client.get('Note', '1')?.title
    expect([await office.clock.until(client.undo()), titles()]).toEqual([true, 'a'])
    expect([await office.clock.until(client.redo()), titles()]).toEqual([true, 'abcd'])
    expect([await office.clock.until(client.undo()), titles()]).toEqual([true, 'a'])
    expect([await office.clock.until(client.undo()), titles()]).toEqual([true, 'Milk'])
    expect(await client.undo()).toBe(false)
    await office.clock.advance(60_000)
    expect(await office.rows()).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('asked for twice at once takes two steps, each after the other', async () => {
    const { office, client } = await open()
    for (const n of [2, 3, 4]) client.mutate((m) => m.update('Note', '1', { n }))
    client.mutate((m) => m.update('Note', '1', { n: 5 }), { group: 'g' })
    client.mutate((m) => m.update('Note', '1', { n: 6 }), { group: 'g' })
    const all = [client.undo(), client.undo(), client.redo(), client.undo(), client.undo()]
    expect(await office.clock.until(Promise.all(all))).toEqual([true, true, true, true, true])
    expect(client.get('Note', '1')?.n).toBe(2)
  })

  test.each(['of its own', 'joined with the one before'])(
    'and doing it again, over and over, costs none of the steps before: each %s',
    async (kind) => {
      const { office, client } = await open()
      await client.stop()
      for (let n = 2; n <= 61; n += 1) {
        const options = kind === 'of its own' ? {} : { group: `${n}`, coalesce: `${n}` }
        if (options.group) client.mutate((m) => m.update('Note', '1', { n, half: true }), options)
        client.mutate((m) => m.update('Note', '1', { n }), options)
      }
      for (let time = 0; time < 60; time += 1) {
        await office.clock.until(client.undo())
        await office.clock.until(client.redo())
      }
      let steps = 0
      while (await office.clock.until(client.undo())) steps += 1
      expect([steps, notes(client)]).toEqual([60, { 1: { title: 'Milk', n: 1 } }])
    },
  )

  test('leaves nothing to do again once something else was written', async () => {
    const { office, client } = await open()
    client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await office.clock.until(client.undo())
    client.mutate((m) => m.update('Note', '1', { n: 3 }))
    expect(await client.redo()).toBe(false)
  })
})

test('what is done again requires what it required', async () => {
  const office = await Office.open()
  await office.insert('1', { n: 0 })
  const client = await office.desk().live()
  await client.stop()
  const first = client.mutate((m) => m.insert('Note', { id: '2', title: 'mine' }))
  client.mutate((m) => m.update('Note', '1', { n: 5 }), { requires: [first] })
  await office.clock.until(client.undo())
  await office.clock.until(client.redo())
  await office.insert('2', { title: 'theirs' })
  await client.start()
  await office.clock.advance(10_000)
  expect(client.outbox.list().map(({ rejection }) => rejection?.reason)).toEqual([
    'exists',
    'dependency_rejected',
  ])
  expect(notes(client)).toMatchObject({ 1: { n: 0 } })
})
