import { describe, expect, test } from 'vitest'
import type { Transaction } from '../../src/index.ts'
import { at, conflict, failure, inStep, notes, oneNote } from '../support/test-backend.ts'

describe('undo', () => {
  test('of a write that another client of the same database sent undoes it there, too', async () => {
    const { backend, device, client } = await oneNote()
    await client.stop()
    const tx = client.mutate((m) => m.update('Note', '1', { n: 5 }))
    await backend.clock.until(tx.durable)
    await backend.clock.until(device.live())
    await backend.clock.advance(1_000)
    expect([tx.state, await backend.rows()]).toEqual(['queued', { 1: { title: 'Milk', n: 5 } }])
    const inverse = (await backend.clock.until(tx.undo())) || undefined
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
    await client.start()
    await backend.clock.advance(10_000)
    expect([tx.state, inverse?.state, client.outbox.list()]).toEqual(['synced', 'synced', []])
    expect(await backend.rows()).toEqual(notes(client))
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('restores only fields that still hold what was written', async () => {
    const { backend, client } = await oneNote()
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine', n: 2 }))
    await backend.clock.until(tx.synced)
    await backend.update('1', { title: 'theirs' })
    await backend.clock.advance(1_000)
    await backend.clock.until(((await tx.undo()) as Transaction).synced)
    expect(await backend.rows()).toEqual({ 1: { title: 'theirs', n: 1 } })
    expect(await tx.undo()).toBe(false)
  })

  test('of a rejected transaction does nothing', async () => {
    const { backend, client } = await oneNote()
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.advance(1_000)
    expect([tx.state, await tx.undo(), await client.undo()]).toEqual(['rejected', false, false])
    expect(client.outbox.list()).toEqual([tx])
  })

  test('of a rejected transaction keeps an equal value that somebody else wrote', async () => {
    const { backend, device, client, tx } = await conflict()
    await backend.update('1', { title: 'mine' })
    await backend.clock.advance(1_000)
    expect([await tx.undo(), client.outbox.list()]).toEqual([false, [tx]])
    await backend.clock.advance(1_000)
    expect(device.log).toEqual(['rejected Rename conflict'])
    expect(await backend.rows()).toEqual({ 1: { title: 'mine', n: 2 } })
  })

  test('is available at once in a listener that hears of the transaction', async () => {
    const { client } = await oneNote()
    const heard: boolean[] = []
    client.outbox.subscribe(() => heard.push(client.canUndo))
    client.mutate((m) => m.update('Note', '1', { n: 2 }))
    expect(heard.at(-1)).toBe(true)
  })

  test('waits for an undo that is under way', async () => {
    const { backend, device, client } = await oneNote()
    device.network.cut()
    const made = [2, 3, 4].map((n) => client.mutate((m) => m.update('Note', '1', { n })))
    await backend.clock.until(Promise.all(made.map((tx) => tx.durable)))
    const [first, second] = [client.undo(), client.undo()]
    const third = first.then(() => client.undo())
    expect(await backend.clock.until(Promise.all([first, second, third]))).toEqual([true, true, true])
    expect([notes(client), client.canUndo]).toEqual([{ 1: { title: 'Milk', n: 1 } }, false])
  })

  test('of a transaction that was rejected and retried undoes the retry', async () => {
    const { backend, client } = await oneNote()
    const title = () => client.get('Note', '1')?.title
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = client.mutate((m) => m.update('Note', '1', { title: 'Bread' }))
    await backend.clock.advance(1_000)
    expect([tx.state, client.canUndo]).toEqual(['rejected', false])
    backend.intercept = (_, pass) => pass()
    client.outbox.retry(tx.id)
    expect([title(), client.canUndo]).toEqual(['Bread', true])
    expect([await backend.clock.until(client.undo()), title()]).toEqual([true, 'Milk'])
    expect([await backend.clock.until(client.redo()), title()]).toEqual([true, 'Bread'])
    await backend.clock.advance(1_000)
    expect(await backend.rows()).toEqual({ 1: { title: 'Bread', n: 1 } })
  })

  test('that was rejected and retried is redone by undoing the retry', async () => {
    const { backend, client } = await oneNote()
    const title = () => client.get('Note', '1')?.title
    await backend.clock.until(client.mutate((m) => m.update('Note', '1', { title: 'Bread' })).synced)
    backend.intercept = at('tx', async () => failure(422, 'invalid'))
    await client.undo()
    await backend.clock.advance(1_000)
    const [inverse] = client.outbox.list({ state: 'rejected' })
    backend.intercept = (_, pass) => pass()
    client.outbox.retry(inverse?.id ?? '')
    expect(title()).toBe('Milk')
    expect([await backend.clock.until(client.redo()), title()]).toEqual([true, 'Bread'])
  })

  test('and redo report whether there is a step, and when that changes', async () => {
    const { backend, client } = await oneNote()
    const told: (readonly [boolean, boolean])[] = []
    const look = () => {
      const now = [client.canUndo, client.canRedo] as const
      if (String(now) !== String(told.at(-1))) told.push(now)
    }
    look()
    client.outbox.subscribe(look)
    await backend.clock.until(client.mutate((m) => m.update('Note', '1', { n: 2 })).synced)
    await backend.update('1', { n: 3 })
    await backend.clock.advance(1_000)
    // There is nothing left of it to take back.
    await client.undo()
    await client.redo()
    expect(told).toEqual([
      [false, false],
      [true, false],
      [false, false],
    ])
  })

  test('of a transaction that is rejected later is dropped with it', async () => {
    const { backend, client } = await oneNote()
    backend.intercept = at('tx', () => backend.wait(500).then(() => failure(422, 'invalid')))
    const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(tx.durable)
    const inverse = (await tx.undo()) || undefined
    await backend.clock.advance(1_000)
    expect([tx.rejection?.reason, inverse?.rejection?.reason]).toEqual(['invalid', 'dependency_rejected'])
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('undoes the transactions of a group together, the last first', async () => {
    const { backend, client } = await oneNote()
    const write = (title: string, group?: string) =>
      client.mutate((m) => m.update('Note', '1', { title }), group === undefined ? {} : { group })
    write('a')
    await backend.clock.until(write('ab', 'typing').synced)
    write('abc', 'typing')
    write('abcd', 'typing')
    const titles = () => client.get('Note', '1')?.title
    expect([await backend.clock.until(client.undo()), titles()]).toEqual([true, 'a'])
    expect([await backend.clock.until(client.redo()), titles()]).toEqual([true, 'abcd'])
    expect([await backend.clock.until(client.undo()), titles()]).toEqual([true, 'a'])
    expect([await backend.clock.until(client.undo()), titles()]).toEqual([true, 'Milk'])
    expect(await client.undo()).toBe(false)
    await backend.clock.advance(60_000)
    expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('called twice at once undoes two steps, one after the other', async () => {
    const { backend, client } = await oneNote()
    for (const n of [2, 3, 4]) client.mutate((m) => m.update('Note', '1', { n }))
    client.mutate((m) => m.update('Note', '1', { n: 5 }), { group: 'g' })
    client.mutate((m) => m.update('Note', '1', { n: 6 }), { group: 'g' })
    const all = [client.undo(), client.undo(), client.redo(), client.undo(), client.undo()]
    expect(await backend.clock.until(Promise.all(all))).toEqual([true, true, true, true, true])
    expect(client.get('Note', '1')?.n).toBe(2)
  })

  test('and redoing many times keeps all steps', async () => {
    const { backend, client } = await oneNote()
    await client.stop()
    for (let n = 2; n <= 61; n += 1) client.mutate((m) => m.update('Note', '1', { n }))
    for (let time = 0; time < 60; time += 1) {
      await backend.clock.until(client.undo())
      await backend.clock.until(client.redo())
    }
    let steps = 0
    while (await backend.clock.until(client.undo())) steps += 1
    expect(steps).toBe(60)
    expect(notes(client)).toEqual({ 1: { title: 'Milk', n: 1 } })
  })

  test('leaves nothing to redo once something else is written', async () => {
    const { backend, client } = await oneNote()
    client.mutate((m) => m.update('Note', '1', { n: 2 }))
    await backend.clock.until(client.undo())
    client.mutate((m) => m.update('Note', '1', { n: 3 }))
    expect(await client.redo()).toBe(false)
  })
})

test('a redone transaction requires what the original required', async () => {
  const { backend, client } = await inStep({ 1: { n: 0 } })
  await client.stop()
  const first = client.mutate((m) => m.insert('Note', { id: '2', title: 'mine' }))
  client.mutate((m) => m.update('Note', '1', { n: 5 }), { requires: [first] })
  await backend.clock.until(client.undo())
  await backend.clock.until(client.redo())
  await backend.insert('2', { title: 'theirs' })
  await client.start()
  await backend.clock.advance(10_000)
  expect(client.outbox.list().map(({ rejection }) => rejection?.reason)).toEqual([
    'exists',
    'dependency_rejected',
  ])
  expect(notes(client)).toMatchObject({ 1: { n: 0 } })
})

test('a redone group keeps the requirements between its transactions', async () => {
  const { backend, client } = await inStep(
    {},
    {},
    {
      authorize: ({ ops }) => (ops.some(({ id }) => id === 'payment') ? { message: 'No.' } : undefined),
    },
  )
  await client.stop()
  const payment = client.mutate((m) => m.insert('Note', { id: 'payment' }), { group: 'buy' })
  client.mutate((m) => m.insert('Note', { id: 'order' }), { group: 'buy', requires: [payment] })
  await backend.clock.until(client.undo())
  await backend.clock.until(client.redo())
  await client.start()
  await backend.clock.advance(10_000)
  expect(client.outbox.list().map(({ rejection }) => rejection?.reason)).toEqual([
    'forbidden',
    'dependency_rejected',
  ])
  expect(await backend.rows()).toEqual({})
})
