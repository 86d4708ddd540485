import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineModels } from '../../src/models/models.ts'
import { draft, type Mutator } from '../../src/mutations/draft.ts'
import { effectsOf, takeBack, tryAgain } from '../../src/mutations/inverse.ts'
import { applyOp } from '../../src/protocol/fold.ts'
import type { Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'

type Rows = { readonly [id: string]: Payload }

function write(rows: Rows, body: (m: Mutator) => void) {
  return draft(body, {
    rows: { of: (t) => ({ get: (id) => (rows[id] ? { t, id, p: rows[id] } : undefined) }) },
    models: defineModels({}),
    newId: () => 'new',
    since: 0,
  })
}

/** What `body` makes of `rows`. */
function made(rows: Rows, body: (m: Mutator) => void): Rows {
  const now = new Map<string, WireRow | undefined>(
    Object.entries(rows).map(([id, p]) => [id, { t: 'T', id, p }]),
  )
  for (const op of write(rows, body).ops) now.set(op.id, applyOp(now.get(op.id), op))
  return Object.fromEntries([...now].flatMap(([id, row]) => (row ? [[id, row.p]] : [])))
}

type Step = { readonly kind: 'put' | 'update' | 'delete'; readonly id: string; readonly p: Payload }

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('put', 'update', 'delete'),
  id: fc.constantFrom('1', '2', '3'),
  p: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.nat(2)),
})
const stored = fc.dictionary(
  fc.constantFrom('1', '2'),
  fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.nat(2)),
)

const run = (steps: readonly Step[]) => (m: Mutator) => {
  for (const { kind, id, p } of steps) {
    if (kind === 'put') m.put('T', { ...p, id })
    else if (kind === 'delete') m.delete('T', id)
    else if (m.get('T', id)) m.update('T', id, p)
  }
}

describe('taking back', () => {
  test('goes backwards: what was made last, which may hang on the first, goes first', () => {
    const add = run([
      { kind: 'put', id: '1', p: {} },
      { kind: 'put', id: '2', p: {} },
    ])
    const effects = effectsOf(write({}, add))
    const { ops } = write(made({}, add), (m) => takeBack(effects, m))
    expect(ops.map(({ op, id }) => [op, id])).toEqual([
      ['d', '2'],
      ['d', '1'],
    ])
  })

  test('restores all, where nobody changed anything meanwhile', () => {
    fc.assert(
      fc.property(stored, fc.array(step), (rows, steps) => {
        const effects = effectsOf(write(rows, run(steps)))
        const changed = made(rows, run(steps))
        expect(made(changed, (m) => takeBack(effects, m))).toEqual(rows)
      }),
    )
  })

  test('changes no field that does not hold what was written', () => {
    const rows = { 1: { a: 1, b: 1 } }
    const effects = effectsOf(write(rows, (m) => m.update('T', '1', { a: 2, b: 2 })))
    expect(made({ 1: { a: 2, b: 3, c: 4 } }, (m) => takeBack(effects, m))).toEqual({
      1: { a: 1, b: 3, c: 4 },
    })
    expect(write({ 1: { a: 3, b: 3 } }, (m) => takeBack(effects, m)).ops).toEqual([])
    expect(write({}, (m) => takeBack(effects, m)).ops).toEqual([])
  })

  test('keeps a record that was added, and changed by somebody since', () => {
    const effects = effectsOf(write({}, (m) => m.insert('T', { id: '1', a: 1 })))
    expect(made({ 1: { a: 1 } }, (m) => takeBack(effects, m))).toEqual({})
    expect(write({ 1: { a: 2 } }, (m) => takeBack(effects, m)).ops).toEqual([])
  })

  test('brings back a record that was removed, unless there is another', () => {
    const effects = effectsOf(write({ 1: { a: 1 } }, (m) => m.delete('T', '1')))
    expect(made({}, (m) => takeBack(effects, m))).toEqual({ 1: { a: 1 } })
    expect(write({ 1: { a: 5 } }, (m) => takeBack(effects, m)).ops).toEqual([])
  })

  test('removes a field that was added', () => {
    const effects = effectsOf(write({ 1: { a: 1 } }, (m) => m.update('T', '1', { b: 2 })))
    expect(made({ 1: { a: 1, b: 2, c: 3 } }, (m) => takeBack(effects, m))).toEqual({ 1: { a: 1, c: 3 } })
  })
})

describe('trying again', () => {
  test('does the same again where nothing has changed', () => {
    fc.assert(
      fc.property(stored, fc.array(step), (rows, steps) => {
        const draftOf = write(rows, run(steps))
        expect(made(rows, (m) => tryAgain(draftOf, m))).toEqual(made(rows, run(steps)))
      }),
    )
  })

  test('puts a record whole that somebody deleted, and keeps what others changed', () => {
    const draftOf = write({ 1: { a: 1, b: 1 } }, (m) => m.update('T', '1', { a: 2 }))
    expect(write({}, (m) => tryAgain(draftOf, m)).ops).toEqual([
      { op: 'i', t: 'T', id: '1', p: { a: 2, b: 1 }, put: true },
    ])
    expect(made({ 1: { a: 1, b: 9 } }, (m) => tryAgain(draftOf, m))).toEqual({ 1: { a: 2, b: 9 } })
  })

  test('asks anew that a record be unchanged where that was asked, and nowhere else', () => {
    for (const unchanged of [true, false]) {
      const draftOf = write({ 1: { a: 1 } }, (m) => {
        m.update('T', '1', { a: 2 }, { ifUnchanged: unchanged })
        m.put('T', { id: '1', a: 3 }, { ifUnchanged: unchanged })
        m.delete('T', '1', { ifUnchanged: unchanged })
      })
      const { ops } = write({ 1: { a: 1 } }, (m) => tryAgain(draftOf, m))
      expect(ops).toEqual(draftOf.ops)
    }
  })

  test('writes nothing of a record that it removed itself in the end, and somebody else has', () => {
    const draftOf = write({ 1: { a: 1 } }, (m) => {
      m.update('T', '1', { a: 2 })
      m.delete('T', '1')
    })
    expect(write({}, (m) => tryAgain(draftOf, m)).ops).toEqual([])
  })
})
