import { expect, test } from 'vitest'
import { JumpingClock } from '../support/jumping-clock.ts'
import { at, failure, notes, TestBackend } from '../support/test-backend.ts'

/** A tab that has no network, and waits for its next try to send; others of its user that send, or have just read. */
async function twoTabs() {
  const backend = new TestBackend()
  await backend.insert('1', { title: 'Milk' })
  const device = backend.device()
  const first = await device.live()
  device.network.cut()
  first.mutate((m) => m.insert('Note', { id: 'other' }))
  // By now it waits long enough between its tries.
  await backend.clock.advance(60_000)
  const open = async () => {
    const second = device.client()
    await backend.clock.until(second.start())
    return second
  }
  /** A second tab that sends what is on the disk, and hears no answer. */
  const openAndSend = async () => {
    backend.intercept = at('tx', async (_, pass) => {
      await pass()
      return failure(503)
    })
    device.network.mend()
    const second = await open()
    await backend.clock.advance(500)
    device.network.cut()
    backend.intercept = (_, pass) => pass()
    return second
  }
  const read = async () => {
    const second = device.client()
    await second.outbox.export()
    return second
  }
  const mend = async () => {
    device.network.mend()
    await backend.clock.advance(120_000)
  }
  return { backend, device, first, open, openAndSend, read, mend }
}

test('a write that one tab undid is not sent by another tab that has read it', async () => {
  const { backend, first, read, mend } = await twoTabs()
  const tx = first.mutate((m) => m.update('Note', '1', { title: 'unwanted' }))
  await backend.clock.until(tx.durable)
  const second = await read()
  const there = second.outbox.get(tx.id)
  await backend.clock.until(tx.undo())
  await second.start()
  await mend()
  expect(tx.state).toBe('cancelled')
  expect(there?.state).toBe('cancelled')
  expect(backend.received.includes(tx.id)).toBe(false)
  expect(await backend.rows()).toEqual({ 1: { title: 'Milk' }, other: {} })
  expect([notes(first), notes(second)]).toEqual([await backend.rows(), await backend.rows()])
  expect([first.outbox.list(), second.outbox.list()]).toEqual([[], []])
})

test('undoing a write that another tab has possibly sent sends the undo after it', async () => {
  const { backend, first, openAndSend, mend } = await twoTabs()
  const tx = first.mutate((m) => m.update('Note', '1', { title: 'unwanted' }))
  await backend.clock.until(tx.durable)
  const second = await openAndSend()
  const inverse = (await backend.clock.until(tx.undo())) || undefined
  await mend()
  expect([tx.state, inverse?.state]).toEqual(['synced', 'synced'])
  expect(await backend.rows()).toEqual({ 1: { title: 'Milk' }, other: {} })
  expect([notes(first), notes(second)]).toEqual([await backend.rows(), await backend.rows()])
})

test('a dependent of a write that another tab undid is rejected as `dependency_rejected`', async () => {
  const { backend, first, read, mend } = await twoTabs()
  const tx = first.mutate((m) => m.insert('Note', { id: '2' }))
  await backend.clock.until(tx.durable)
  const second = await read()
  const edit = second.mutate((m) => m.update('Note', '2', { n: 1 }))
  await backend.clock.until(edit.durable)
  await backend.clock.until(tx.undo())
  await second.start()
  await mend()
  expect([edit.state, edit.rejection?.reason]).toEqual(['rejected', 'dependency_rejected'])
  expect(Object.keys(await backend.rows())).toEqual(['1', 'other'])
})

test('a write of a closed tab is sent by another tab, before its own later write', async () => {
  const { backend, open, mend } = await twoTabs()
  const second = await open()
  const closed = await open()
  const older = closed.mutate((m) => m.update('Note', '1', { title: 'older' }))
  await backend.clock.until(older.durable)
  await backend.clock.until(closed.close())
  await backend.clock.advance(1)
  second.mutate((m) => m.update('Note', '1', { title: 'newer' }))
  await mend()
  expect(await backend.rows()).toMatchObject({ 1: { title: 'newer' } })
  expect(backend.received.indexOf(older.id)).toBeGreaterThan(-1)
})

test('a tab that becomes visible shows and sends the writes of a closed tab', async () => {
  const { backend, device, first, open, mend } = await twoTabs()
  await mend()
  const closed = await open()
  device.network.cut()
  const tx = closed.mutate((m) => m.update('Note', '1', { title: 'left' }))
  await backend.clock.until(tx.durable)
  await backend.clock.until(closed.close())
  device.network.mend()
  device.toFront()
  await backend.clock.advance(60_000)
  expect(await backend.rows()).toMatchObject({ 1: { title: 'left' } })
  expect([notes(first), first.outbox.list()]).toEqual([await backend.rows(), []])
})

test('a rejected write leaves the inbox of every tab once one tab discards or retries it', async () => {
  const { backend, device, first, open, mend } = await twoTabs()
  const rejected = ['2', '3'].map((id) =>
    first.mutate((m) => m.update('Note', '1', { n: id }, { ifUnchanged: true })),
  )
  await backend.clock.until(Promise.all(rejected.map(({ durable }) => durable)))
  const second = await open()
  await backend.update('1', { n: 'theirs' })
  await mend()
  expect([first, second].map(({ outbox }) => outbox.list({ state: 'rejected' }).length)).toEqual([2, 2])
  const [discarded, retried] = rejected
  if (!discarded || !retried) throw new Error('Both are there.')
  await backend.clock.until(first.outbox.discard(discarded.id))
  await backend.clock.until(first.outbox.retry(retried.id).durable)
  device.toFront()
  await backend.clock.advance(60_000)
  expect([first.outbox.list(), second.outbox.list()]).toEqual([[], []])
  expect(await backend.rows()).toMatchObject({ 1: { n: '3' } })
  expect([notes(first), notes(second)]).toEqual([await backend.rows(), await backend.rows()])
})

test('undoing a write that another tab may have sent does not reject its dependents', async () => {
  const { backend, first, openAndSend, mend } = await twoTabs()
  const insert = first.mutate((m) => m.insert('Note', { id: '2' }))
  const edit = first.mutate((m) => m.update('Note', '1', { n: 1 }), { requires: [insert] })
  await backend.clock.until(edit.durable)
  await openAndSend()
  await backend.clock.until(insert.undo())
  await mend()
  expect([insert.state, edit.state]).toEqual(['synced', 'synced'])
  expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 1 }, other: {} })
})

test('a write that one tab discarded is not reported as rejected in another tab', async () => {
  const { backend, device, first, open, mend } = await twoTabs()
  const store = device.store
  const other = backend.device({ store })
  const away = await other.live()
  other.network.cut()
  const tx = first.mutate((m) => m.update('Note', '1', { n: 'mine' }, { ifUnchanged: true }))
  await backend.clock.until(tx.durable)
  other.environment.lifecycle.set({ visible: false })
  other.environment.lifecycle.set({ visible: true })
  await backend.clock.advance(1_000)
  expect(away.outbox.get(tx.id)?.state).toBe('queued')
  await backend.update('1', { n: 'theirs' })
  await mend()
  await backend.clock.until(first.outbox.discard(tx.id))
  other.network.mend()
  await backend.clock.advance(60_000)
  expect([away.outbox.list(), other.log.filter((line) => line.startsWith('rejected'))]).toEqual([[], []])
  const next = await open()
  expect(next.outbox.list()).toEqual([])
})

test('a write that one tab retried stays out of the inbox of another tab that learns of its rejection', async () => {
  const { backend, device, first, open, mend } = await twoTabs()
  const other = backend.device({ store: device.store })
  const away = await other.live()
  other.network.cut()
  const refused = first.mutate((m) => m.update('Note', '1', { n: 'mine' }, { ifUnchanged: true }))
  const edit = first.mutate((m) => m.insert('Note', { id: '2' }), { requires: [refused] })
  await backend.clock.until(edit.durable)
  other.environment.lifecycle.set({ visible: false })
  other.environment.lifecycle.set({ visible: true })
  await backend.clock.advance(60_000)
  expect(away.outbox.list().map(({ id }) => id)).toContain(edit.id)
  await backend.update('1', { n: 'theirs' })
  await mend()
  expect(edit.rejection?.reason).toBe('dependency_rejected')
  await backend.clock.until(first.outbox.retry(edit.id).synced)
  other.network.mend()
  await backend.clock.advance(120_000)
  const inboxes = [first, away, await open()].map(({ outbox }) => outbox.list().map(({ id }) => id))
  expect(inboxes).toEqual([[refused.id], [refused.id], [refused.id]])
})

test('a transaction that one tab has undone is sent by no other, also after 1 000 undos and a clock that was set back', async () => {
  const backend = new TestBackend()
  const device = backend.device()
  const clock = new JumpingClock(backend.clock)
  const open = () => device.client({ environment: { ...device.environment, clock } })
  const idle = async () => {
    const client = open()
    await client.start()
    await backend.clock.until(client.stop())
    return client
  }
  const before = await idle()
  const all = Array.from({ length: 1_000 }, (_, n) => before.mutate((m) => m.put('Note', { id: `${n}` })))
  await backend.clock.until(Promise.all(all.map((tx) => tx.undo())))
  await device.kill()

  clock.jump(-3_600_000)
  const first = await idle()
  const tx = first.mutate((m) => m.put('Note', { id: 'x' }))
  await backend.clock.until(tx.durable)
  const second = open()
  await second.outbox.export()
  const there = second.outbox.get(tx.id)
  await backend.clock.until(tx.undo())
  await second.start()
  await backend.clock.advance(1_000)
  expect(tx.state).toBe('cancelled')
  expect(there?.state).toBe('cancelled')
  expect(backend.received).toEqual([])
})
