import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, type Desk, failure, notes, Office, watched } from '../support/office.ts'
import { modelsOf } from './tabs/models.ts'

/** Two tabs offline, the second of a newer version of the application: both have what was written in the first. */
async function twoVersions() {
  const office = await Office.open()
  await office.insert('1', { version: 2 })
  const store = memoryStore()
  const desks = [office.desk({ store }), office.desk({ store })] as const
  const older = await desks[0].live(modelsOf(1))
  for (const { network } of desks) network.cut()
  const written = older.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await office.clock.until(written.durable)
  const newer = desks[1].client(modelsOf(2))
  await newer.start()
  const mend = async ({ network }: Desk) => {
    network.mend()
    await office.clock.advance(60_000)
  }
  const expectOnce = async () => {
    const rows = await office.rows()
    expect(rows).toMatchObject({ 2: { title: 'Bread' } })
    expect([notes(older), notes(newer)]).toEqual([rows, rows])
    expect([older.outbox.list(), newer.outbox.list()]).toEqual([[], []])
    expect(desks.flatMap(({ log }) => log.filter((line) => line.startsWith('rejected')))).toEqual([])
    expect(written.state).toBe('synced')
  }
  return { office, desks, older, mend, expectOnce }
}

test('what the older version has sent, the newer asks for in the shape of the older', async () => {
  const { office, desks, mend, expectOnce } = await twoVersions()
  await mend(desks[0])
  // Or the data would say that it was done.
  office.intercept = at('delta', async () => failure(503))
  await mend(desks[1])
  office.intercept = (_, pass) => pass()
  await office.clock.advance(60_000)
  await expectOnce()
})

test('what the newer version has sent and seen, the older takes for done, and shows all the time', async () => {
  const { office, desks, older, mend, expectOnce } = await twoVersions()
  await mend(desks[1])
  const titles = watched(older, '2', 'title')
  office.intercept = at('delta', async () => failure(503))
  await mend(desks[0])
  office.intercept = (_, pass) => pass()
  await office.clock.advance(60_000)
  await expectOnce()
  expect(titles).toEqual(['Bread'])
})

test('what the newer version has sent and heard nothing of, the older asks for in the shape of the newer', async () => {
  const { office, desks, mend, expectOnce } = await twoVersions()
  office.intercept = at('tx', async (_, pass) => {
    await pass()
    desks[1].network.cut()
    throw new TypeError('fetch failed')
  })
  await mend(desks[1])
  office.intercept = (_, pass) => pass()
  await mend(desks[0])
  await mend(desks[1])
  await expectOnce()
})
