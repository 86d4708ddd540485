import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fetched, type Outcome, type Position, positionAt, pushed } from '../../src/engine/position.ts'
import type { JournalEntry } from '../../src/persistence/stored-data.ts'
import { type DeltaMessage, readDelta } from '../../src/protocol/delta.ts'
import { applyOp, rowKey } from '../../src/protocol/fold.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { frame } from '../support/arbitraries.ts'

/** A copy that is driven by outcomes alone, and a disk that holds the entries alone. */
function client(sid = 100) {
  const shown = new Map<string, WireRow>()
  const rows = { of: (t: string) => ({ get: (id: string) => shown.get(rowKey(t, id)) }), has: () => true }
  const journal: JournalEntry[] = []
  let state: Position = positionAt(sid, undefined)
  const take = (outcome: Outcome) => {
    const changes = outcome.changes()
    state = outcome.state
    for (const { t, id, before, after } of changes) {
      expect(rows.of(t).get(id)).toBe(before)
      if (after) shown.set(rowKey(t, id), after)
      else shown.delete(rowKey(t, id))
    }
    if (outcome.entry) {
      expect(outcome.entry.since).toBe(journal.at(-1)?.sid ?? sid)
      journal.push(outcome.entry)
    }
    return { ...outcome, changes }
  }
  return {
    push: (delta: DeltaMessage) => take(pushed(state, delta, rows)),
    fetch: (delta: DeltaMessage, since = state.confirmed) => take(fetched(state, delta, since, rows)),
    rows,
    journal,
    get state() {
      return state
    },
    get shown() {
      return plain(shown.values())
    },
    /** What a restart would show. */
    get stored() {
      const stored = new Map<string, WireRow>()
      for (const op of journal.flatMap(({ ops }) => ops)) {
        const row = applyOp(stored.get(rowKey(op.t, op.id)), op)
        if (row) stored.set(rowKey(op.t, op.id), row)
        else stored.delete(rowKey(op.t, op.id))
      }
      return plain(stored.values())
    },
  }
}

function plain(rows: Iterable<WireRow>) {
  return Object.fromEntries([...rows].map(({ t, id, p }) => [`${t} ${id}`, p]))
}

function delta(sid: number, frames: readonly SyncFrame[], since?: number): DeltaMessage {
  return {
    sid,
    kind: 'frame',
    frames,
    broken: [],
    ...(since === undefined ? undefined : { since }),
  }
}

const insert = (sid: number, id: string, p = {}): SyncFrame => ({ sid, op: 'i', t: 'a', id, p })
const update = (sid: number, id: string, p: { x: number }): SyncFrame => ({ sid, op: 'u', t: 'a', id, p })
const lone = (one: SyncFrame) => delta(one.sid, [one])

describe('a delta that was asked for', () => {
  test('invariant 7: moves the position also when it is empty', () => {
    const copy = client()
    copy.fetch(delta(140, []))
    expect(copy.state).toMatchObject({ confirmed: 140, shown: 140 })
    expect(copy.journal).toMatchObject([{ since: 100, sid: 140, ops: [] }])
  })

  test('invariant 67: never lowers the position when it comes late', () => {
    const copy = client()
    copy.push(delta(105, [insert(105, '1', { x: 5 })], 100))
    copy.fetch(delta(103, [insert(103, '1', { x: 3 })]), 100)
    expect(copy.state).toMatchObject({ confirmed: 105, shown: 105 })
    expect(copy.shown).toEqual({ 'a 1': { x: 5 } })
  })

  test('that ends before it was asked from is of another history', () => {
    expect(client().fetch(delta(99, []))).toMatchObject({ reset: 'restored', changes: [] })
  })

  test('of another epoch is of another history, where both are known', () => {
    const copy = client()
    expect(copy.fetch({ ...delta(101, []), epoch: 'one' }).reset).toBeUndefined()
    expect(copy.fetch(delta(102, [])).reset).toBeUndefined()
    expect(copy.fetch({ ...delta(103, []), epoch: 'two' }).reset).toBe('epoch')
  })

  test('tells a change to a record that is not here', () => {
    expect(client().fetch(delta(101, [update(101, '9', { x: 1 })])).unknown).toMatchObject([{ id: '9' }])
  })
})

describe('a push with since', () => {
  test('of another epoch proves no reset: a delta is wanted, which tells', () => {
    const copy = client()
    copy.fetch({ ...delta(101, []), epoch: 'one' })
    expect(copy.push({ ...delta(102, [], 101), epoch: 'two' })).toMatchObject({ want: 'delta' })
  })
})

describe('a push without since', () => {
  test('invariant 2: moves what is shown at once, and what is stored not before a delta confirms it', () => {
    const copy = client()
    expect(copy.push(lone(insert(105, '1'))).want).toBe('confirm')
    expect(copy.state).toMatchObject({ confirmed: 100, shown: 105 })
    expect({ shown: copy.shown, stored: copy.stored }).toEqual({ shown: { 'a 1': {} }, stored: {} })
    copy.fetch(delta(105, [insert(103, '2'), insert(105, '1')]))
    expect(copy.state).toMatchObject({ confirmed: 105, shown: 105, unconfirmed: [] })
    expect(copy.stored).toEqual({ 'a 1': {}, 'a 2': {} })
  })

  test('invariant 2: 105 pushed before 103 loses nothing, and applies in order', () => {
    const copy = client()
    copy.fetch(delta(101, [insert(101, '1', { x: 1 })]))
    copy.push(lone(update(105, '1', { x: 5 })))
    copy.push(lone(update(103, '1', { x: 3 })))
    expect(copy.shown).toEqual({ 'a 1': { x: 5 } })
  })

  test('of a removal stands where the confirming delta has rows alone, as far as it reaches', () => {
    const copy = client()
    copy.fetch(delta(102, [insert(101, '1'), insert(102, '2')]))
    for (const [sid, id] of [
      [103, '1'],
      [105, '2'],
    ] as const)
      copy.push(lone({ sid, op: 'd', t: 'a', id }))
    copy.fetch(readDelta({ sid: 104, rows: [{ t: 'a', id: '3', p: {} }] }))
    expect({ shown: copy.shown, stored: copy.stored }).toEqual({
      shown: { 'a 3': {} },
      stored: { 'a 2': {}, 'a 3': {} },
    })
  })

  test('of a change to an unknown record is no fault: what it follows from may come later', () => {
    const copy = client()
    expect(copy.push(lone(update(105, '1', { x: 5 }))).unknown).toEqual([])
    copy.fetch(delta(105, [insert(104, '1', { x: 4 }), update(105, '1', { x: 5 })]))
    expect(copy.shown).toEqual({ 'a 1': { x: 5 } })
  })
})

describe('in any order', () => {
  const history = fc
    .array(frame(fc.constant(0)), { minLength: 1, maxLength: 12 })
    .map((frames) => frames.map((one, index): SyncFrame => ({ ...one, sid: 101 + index })))

  /** Which change is pushed next (with or without since), or that a delta is fetched; the server is as far as it says. */
  const steps = fc.array(
    fc.record({ kind: fc.constantFrom('push', 'pushSince', 'fetch'), from: fc.nat(11), to: fc.nat(11) }),
    { maxLength: 30 },
  )

  test('pushes lost, doubled and shuffled: what is stored is always a whole prefix of the history', () => {
    fc.assert(
      fc.property(history, steps, (frames, events) => {
        const copy = client()
        let highest = 100
        const upTo = (sid: number) => {
          const reference = client()
          reference.fetch(
            delta(
              Math.max(sid, 100),
              frames.filter((one) => one.sid <= sid),
            ),
          )
          return reference.shown
        }
        for (const { kind, from, to } of events) {
          const first = Math.min(from, frames.length - 1)
          const last = Math.min(Math.max(from, to), frames.length - 1)
          const some = frames.slice(first, last + 1)
          const sid = 101 + last
          highest = Math.max(highest, sid)
          const before = copy.state
          if (kind === 'push') copy.push(delta(sid, some))
          if (kind === 'pushSince') copy.push(delta(sid, some, 100 + first))
          if (kind === 'fetch') {
            copy.fetch(
              delta(
                highest,
                frames.filter((one) => one.sid > copy.state.confirmed && one.sid <= highest),
              ),
            )
          }
          expect(copy.state.shown).toBeGreaterThanOrEqual(before.shown)
          expect(copy.state.shown).toBeGreaterThanOrEqual(copy.state.confirmed)
          expect(copy.stored).toEqual(upTo(copy.state.confirmed))
        }
        copy.fetch(
          delta(
            highest,
            frames.filter((one) => one.sid > copy.state.confirmed && one.sid <= highest),
          ),
        )
        expect(copy.shown).toEqual(upTo(highest))
        expect(copy.stored).toEqual(copy.shown)
      }),
      { numRuns: 500 },
    )
  })
})
