import { describe, expect, test } from 'vitest'
import { emptyReplica, row, t } from '../support/replica-fixtures.ts'

const note = (id: string, n: number) => ({ t: 'Note', id, p: { n } })
const update = (type: string, id: string, n: number) => ({ op: 'u' as const, t: type, id, p: { n } })

/** A replica that holds an issue, and no notes, which stay elsewhere for now. */
function withoutNotes() {
  const { replica } = emptyReplica()
  const staging = replica.stage(new Set(['Note']))
  staging.add([row('a', { n: 1 }), note('1', 1)])
  staging.apply([{ op: 'i', ...note('2', 1) }])
  replica.swap(staging)
  const seen: unknown[] = []
  replica.query('Note', {}).subscribe(({ status, rows }) => seen.push([status, ...rows.map(({ n }) => n)]))
  const joinNotes = (...notes: ReturnType<typeof note>[]) => {
    const copy = replica.stage()
    copy.add(notes)
    replica.join(copy, new Set(['Note']), () => [])
  }
  return { replica, seen, joinNotes }
}

describe('a type that is not loaded', () => {
  test('reads as empty and pending, even if some of it was staged', () => {
    const { replica } = withoutNotes()
    const ready = [replica.isReady(), replica.isReady(t), replica.isReady('Note'), replica.rows.has('Note')]
    expect(ready).toEqual([true, true, false, false])
    expect([replica.all('Note'), replica.query('Note', {}).status]).toEqual([[], 'pending'])
  })

  test('is loaded with a copy that included it before', () => {
    const { replica, seen } = withoutNotes()
    const staging = replica.stage(new Set(['Note']))
    staging.add([note('1', 1)])
    staging.include(['Note'])
    staging.add([note('2', 2)])
    replica.swap(staging)
    expect(seen).toEqual([['ready', 2]])
  })

  test('becomes ready even without records', () => {
    const { replica, seen, joinNotes } = withoutNotes()
    joinNotes()
    expect([seen, replica.rows.has('Note')]).toEqual([[['ready']], true])
  })

  test('is loaded in one step, below pending writes, which can be removed again', () => {
    const { replica, seen, joinNotes } = withoutNotes()
    const insert = { op: 'i' as const, t: 'Note', id: '2', p: { n: 9 } }
    replica.apply([], { lay: [{ id: 'x', ops: [update('Note', '1', 5), insert] }] })
    joinNotes(note('1', 1))
    expect(seen).toEqual([
      ['pending', 9],
      ['ready', 5, 9],
    ])
    replica.apply([], { lift: ['x'] })
    expect(replica.all('Note')).toEqual([{ id: '1', n: 1 }])
  })

  test('is loaded without a record of a pending transaction, which is removed with it', () => {
    const { replica, joinNotes } = withoutNotes()
    replica.apply([], { lay: [{ id: 'x', ops: [{ op: 'i', t: 'Note', id: '2', p: { n: 9 } }] }] })
    joinNotes()
    expect([replica.all('Note').length, replica.confirmed('Note', '2')]).toEqual([1, undefined])
    replica.apply([], { lift: ['x'] })
    expect(replica.all('Note')).toEqual([])
  })

  test('does not affect pending writes on other types', () => {
    const { replica, joinNotes } = withoutNotes()
    replica.apply([], { lay: [{ id: 'x', ops: [update(t, 'a', 5)] }] })
    joinNotes(note('1', 1))
    expect([replica.get(t, 'a')?.n, replica.confirmed(t, 'a')?.p.n]).toEqual([5, 1])
    replica.apply([], { lift: ['x'] })
    expect(replica.get(t, 'a')?.n).toBe(1)
  })
})
