import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { JumpingClock } from '../support/jumping-clock.ts'
import { at, failure, notes, Office } from '../support/office.ts'
import { slowStore } from '../support/slow-store.ts'

/** A tab that has no network, and waits for its next try to send; others of its user that send, or have just read. */
async function twoTabs() {
  const office = await Office.open()
  await office.insert('1', { title: 'Milk' })
  const desk = office.desk()
  const first = await desk.live()
  desk.network.cut()
  first.mutate((m) => m.insert('Note', { id: 'other' }))
  // By now it waits long enough between its tries.
  await office.clock.advance(60_000)
  const open = async () => {
    const second = desk.client()
    await office.clock.until(second.start())
    return second
  }
  /** A second tab that sends what is on the disk, and hears no answer. */
  const openAndSend = async () => {
    office.intercept = at('tx', async (_, pass) => {
      await pass()
      return failure(503)
    })
    desk.network.mend()
    const second = await open()
    await office.clock.advance(500)
    desk.network.cut()
    office.intercept = (_, pass) => pass()
    return second
  }
  const read = async () => {
    const second = desk.client()
    await second.outbox.export()
    return second
  }
  const mend = async () => {
    desk.network.mend()
    await office.clock.advance(120_000)
  }
  return { office, desk, first, open, openAndSend, read, mend }
}

test('what one tab has undone, no other sends that has read it', async () => {
  const { office, first, read, mend } = await twoTabs()
  const tx = first.mutate((m) => m.update('Note', '1', { title: 'unwanted' }))
  await office.clock.until(tx.durable)
  const second = await read()
  const there = second.outbox.get(tx.id)
  await office.clock.until(tx.undo())
  await second.start()
  await mend()
  expect([tx.state, there?.state, office.received.includes(tx.id)]).toEqual(['cancelled', 'cancelled', false])
  expect(await office.rows()).toEqual({ 1: { title: 'Milk' }, other: {} })
  expect([notes(first), notes(second)]).toEqual([await office.rows(), await office.rows()])
  expect([first.outbox.list(), second.outbox.list()]).toEqual([[], []])
})

test('what one tab undoes that another may have sent is taken back behind it', async () => {
  const { office, first, openAndSend, mend } = await twoTabs()
  const tx = first.mutate((m) => m.update('Note', '1', { title: 'unwanted' }))
  await office.clock.until(tx.durable)
  const second = await openAndSend()
  const inverse = await office.clock.until(tx.undo())
  await mend()
  expect([tx.state, inverse?.state]).toEqual(['synced', 'synced'])
  expect(await office.rows()).toEqual({ 1: { title: 'Milk' }, other: {} })
  expect([notes(first), notes(second)]).toEqual([await office.rows(), await office.rows()])
})

test('what requires one that another tab has undone comes back as `dependency_rejected`', async () => {
  const { office, first, read, mend } = await twoTabs()
  const tx = first.mutate((m) => m.insert('Note', { id: '2' }))
  await office.clock.until(tx.durable)
  const second = await read()
  const edit = second.mutate((m) => m.update('Note', '2', { n: 1 }))
  await office.clock.until(edit.durable)
  await office.clock.until(tx.undo())
  await second.start()
  await mend()
  expect([edit.state, edit.rejection?.reason]).toEqual(['rejected', 'dependency_rejected'])
  expect(Object.keys(await office.rows())).toEqual(['1', 'other'])
})

test('what a tab wrote that is closed is sent by another, before what that writes later', async () => {
  const { office, open, mend } = await twoTabs()
  const second = await open()
  const closed = await open()
  const older = closed.mutate((m) => m.update('Note', '1', { title: 'older' }))
  await office.clock.until(older.durable)
  await office.clock.until(closed.close())
  await office.clock.advance(1)
  second.mutate((m) => m.update('Note', '1', { title: 'newer' }))
  await mend()
  expect(await office.rows()).toMatchObject({ 1: { title: 'newer' } })
  expect(office.received.indexOf(older.id)).toBeGreaterThan(-1)
})

test('a tab that comes to the front shows and sends what a closed one wrote', async () => {
  const { office, desk, first, open, mend } = await twoTabs()
  await mend()
  const closed = await open()
  desk.network.cut()
  const tx = closed.mutate((m) => m.update('Note', '1', { title: 'left' }))
  await office.clock.until(tx.durable)
  await office.clock.until(closed.close())
  desk.network.mend()
  desk.environment.lifecycle.set({ visible: false })
  desk.environment.lifecycle.set({ visible: true })
  await office.clock.advance(60_000)
  expect(await office.rows()).toMatchObject({ 1: { title: 'left' } })
  expect([notes(first), first.outbox.list()]).toEqual([await office.rows(), []])
})

test('what was rejected leaves the inbox of each tab once one has discarded it, or tried it again', async () => {
  const { office, desk, first, open, mend } = await twoTabs()
  const rejected = ['2', '3'].map((id) =>
    first.mutate((m) => m.update('Note', '1', { n: id }, { ifUnchanged: true })),
  )
  await office.clock.until(Promise.all(rejected.map(({ durable }) => durable)))
  const second = await open()
  await office.update('1', { n: 'theirs' })
  await mend()
  expect([first, second].map(({ outbox }) => outbox.list({ state: 'rejected' }).length)).toEqual([2, 2])
  const [discarded, retried] = rejected
  if (!discarded || !retried) throw new Error('Both are there.')
  await office.clock.until(first.outbox.discard(discarded.id))
  await office.clock.until(first.outbox.retry(retried.id).durable)
  desk.environment.lifecycle.set({ visible: false })
  desk.environment.lifecycle.set({ visible: true })
  await office.clock.advance(60_000)
  expect([first.outbox.list(), second.outbox.list()]).toEqual([[], []])
  expect(await office.rows()).toMatchObject({ 1: { n: '3' } })
  expect([notes(first), notes(second)]).toEqual([await office.rows(), await office.rows()])
})

test('what requires one that another tab may have sent stays when that is undone', async () => {
  const { office, first, openAndSend, mend } = await twoTabs()
  const insert = first.mutate((m) => m.insert('Note', { id: '2' }))
  const edit = first.mutate((m) => m.update('Note', '1', { n: 1 }), { requires: [insert] })
  await office.clock.until(edit.durable)
  await openAndSend()
  await office.clock.until(insert.undo())
  await mend()
  expect([insert.state, edit.state]).toEqual(['synced', 'synced'])
  expect(await office.rows()).toEqual({ 1: { title: 'Milk', n: 1 }, other: {} })
})

test('what is discarded in one tab is no longer heard of in another that has yet to hear that it was rejected', async () => {
  const { office, desk, first, open, mend } = await twoTabs()
  const store = desk.store
  const other = office.desk({ store })
  const away = await other.live()
  other.network.cut()
  const tx = first.mutate((m) => m.update('Note', '1', { n: 'mine' }, { ifUnchanged: true }))
  await office.clock.until(tx.durable)
  other.environment.lifecycle.set({ visible: false })
  other.environment.lifecycle.set({ visible: true })
  await office.clock.advance(1_000)
  expect(away.outbox.get(tx.id)?.state).toBe('queued')
  await office.update('1', { n: 'theirs' })
  await mend()
  await office.clock.until(first.outbox.discard(tx.id))
  other.network.mend()
  await office.clock.advance(60_000)
  expect([away.outbox.list(), other.log.filter((line) => line.startsWith('rejected'))]).toEqual([[], []])
  const next = await open()
  expect(next.outbox.list()).toEqual([])
})

test('what was tried again in one tab stays out of the inbox when another hears why it was rejected', async () => {
  const { office, desk, first, open, mend } = await twoTabs()
  const other = office.desk({ store: desk.store })
  const away = await other.live()
  other.network.cut()
  const refused = first.mutate((m) => m.update('Note', '1', { n: 'mine' }, { ifUnchanged: true }))
  const edit = first.mutate((m) => m.insert('Note', { id: '2' }), { requires: [refused] })
  await office.clock.until(edit.durable)
  other.environment.lifecycle.set({ visible: false })
  other.environment.lifecycle.set({ visible: true })
  await office.clock.advance(60_000)
  expect(away.outbox.list().map(({ id }) => id)).toContain(edit.id)
  await office.update('1', { n: 'theirs' })
  await mend()
  expect(edit.rejection?.reason).toBe('dependency_rejected')
  await office.clock.until(first.outbox.retry(edit.id).synced)
  other.network.mend()
  await office.clock.advance(120_000)
  const inboxes = [first, away, await open()].map(({ outbox }) => outbox.list().map(({ id }) => id))
  expect(inboxes).toEqual([[refused.id], [refused.id], [refused.id]])
})

test('a transaction that one tab has undone is sent by no other, also after 1 000 undos and a clock that was set back', async () => {
  const office = await Office.open()
  const desk = office.desk()
  const clock = new JumpingClock(office.clock)
  const open = () => desk.client({ environment: { ...desk.environment, clock } })
  const idle = async () => {
    const client = open()
    await client.start()
    await office.clock.until(client.stop())
    return client
  }
  const before = await idle()
  const all = Array.from({ length: 1_000 }, (_, n) => before.mutate((m) => m.put('Note', { id: `${n}` })))
  await office.clock.until(Promise.all(all.map((tx) => tx.undo())))
  await desk.kill()

  clock.jump(-3_600_000)
  const first = await idle()
  const tx = first.mutate((m) => m.put('Note', { id: 'x' }))
  await office.clock.until(tx.durable)
  const second = open()
  await second.outbox.export()
  const there = second.outbox.get(tx.id)
  await office.clock.until(tx.undo())
  await second.start()
  await office.clock.advance(1_000)
  expect(tx.state).toBe('cancelled')
  expect(there?.state).toBe('cancelled')
  expect(office.received).toEqual([])
})

test('invariant 28: what another tab has had accepted is not pending in a tab whose data shows it', async () => {
  const office = await Office.open()
  await office.insert('1')
  office.push = () => {}
  // It takes longer to read than the network does to answer.
  const desk = office.desk({ store: slowStore(memoryStore(), office.clock, 100) })
  const [first, second] = [desk.client({ echoTimeout: 600_000 }), desk.client()]
  await office.clock.until(Promise.all([first.start(), second.start()]))
  await office.clock.advance(5_000)
  const tx = first.mutate((m) => m.insert('Note', { id: '2' }))
  await office.clock.until(tx.accepted)
  await office.clock.until(first.close())
  desk.environment.lifecycle.set({ visible: false })
  desk.environment.lifecycle.set({ visible: true })
  await office.clock.advance(500)
  expect(second.lastSyncId).toBe(2)
  expect(second.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect(notes(second)).toEqual({ 1: {}, 2: {} })
})
