import { expect, test } from 'vitest'
import { notes, Office } from '../support/office.ts'

const coalesce = 'draft'

/** A stopped tab whose first write of a key another tab has sent, which this one does not know yet. */
async function sentByAnother() {
  const office = await Office.open()
  const desk = office.desk()
  const first = await desk.live()
  await first.stop()
  const begun = first.mutate((m) => m.insert('Note', { id: '1', text: 'he' }), { coalesce })
  await office.clock.until(begun.durable)
  const second = desk.client()
  await office.clock.until(second.start())
  await office.clock.advance(60_000)
  expect(await office.rows()).toEqual({ 1: { text: 'he' } })
  const type = (text: string) => first.mutate((m) => m.update('Note', '1', { text }), { coalesce })
  /** What the server has in the end, what one that is opened later shows, and what waits there. */
  const end = async () => {
    await office.clock.advance(60_000)
    const third = desk.client()
    await office.clock.until(third.start())
    await office.clock.advance(60_000)
    return [await office.rows(), notes(third), third.outbox.list()]
  }
  return { office, first, begun, type, end }
}

test('what is typed on while that is stored is written on top of what another tab has sent', async () => {
  const { office, first, begun, type, end } = await sentByAnother()
  type('hell')
  const last = type('hello')
  await office.clock.until(first.start())
  expect(await end()).toEqual([{ 1: { text: 'hello' } }, { 1: { text: 'hello' } }, []])
  expect([begun.state, last.state, first.outbox.list()]).toEqual(['synced', 'synced', []])
})

test('so it is by whoever finds it on the disk', async () => {
  const { office, first, type, end } = await sentByAnother()
  type('hell')
  const last = type('hello')
  await office.clock.until(last.durable)
  await first.close()
  expect(await end()).toEqual([{ 1: { text: 'hello' } }, { 1: { text: 'hello' } }, []])
})

test('what is undone while that is stored does not come back where another tab has sent what was before it', async () => {
  const { office, first, begun, type, end } = await sentByAnother()
  const undone = type('unwanted')
  await office.clock.until(undone.undo())
  await office.clock.until(first.start())
  expect(await end()).toEqual([{ 1: { text: 'he' } }, { 1: { text: 'he' } }, []])
  expect([begun.state, undone.state, first.outbox.list()]).toEqual(['synced', 'cancelled', []])
})
