import { describe, expect, test } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { open, stores } from '../support/store-databases.ts'
import { pageOf, row, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import { type Step, withSteps } from '../support/store-steps.ts'

const [issue, log] = [row('1', {}, 'Issue'), row('1', {}, 'Log')]

describe.each(Object.entries(stores))('with a store in %s', (_, storeOf) => {
  async function stored() {
    const store = storeOf()
    const database = await open(store)
    const writer = await database.snapshot()
    await writer.page(pageOf([issue]))
    await writer.page(pageOf([log]))
    await writer.page(pageOf([row('2', {}, 'Issue'), row('2', {}, 'Log')]))
    await writer.commit({ sid: 5 })
    await database.append({ since: 5, sid: 6, ops: [{ op: 'd', t: 'Log', id: '1' }] })
    return { store, database }
  }

  test('a page without records of the wanted types is not read', async () => {
    const { database } = await stored()
    const pages: (readonly WireRow[])[] = []
    const sink = {
      rows: (rows: readonly WireRow[]) => pages.push(rows),
      ops: () => {},
      holds: (t: string) => t === 'Log',
    }
    expect(await database.read(sink)).toMatchObject({ sid: 6 })
    expect(pages).toEqual([[log], [row('2', {}, 'Issue'), row('2', {}, 'Log')]])
  })
})

test.each([
  ['long, with another read after every few', 200_000, 'ops ops get ops ops get ops ops get'],
  ['short, one after another', 10, 'ops ops ops ops ops ops'],
])('journal records are read if they are %s', async (_, length, expected) => {
  const steps: string[] = []
  const listener = {
    awaited: ({ name }: Step) => void steps.push(name),
    immediate: () => {},
  }
  const database = await open(withSteps(memoryStore(), listener))
  await storeSnapshot(database, snapshotOf(0, []))
  for (let since = 0; since < 6; since += 1) {
    const op = { op: 'i', t: 'Note', id: String(since), p: { text: 'x'.repeat(length) } } as const
    await database.append({ since, sid: since + 1, ops: [op] })
  }
  steps.length = 0
  await database.read({ rows: () => {}, ops: () => steps.push('ops') })
  const taken = steps.slice(steps.indexOf('ops'), steps.indexOf('end'))
  expect(taken.join(' ')).toBe(expected)
})
