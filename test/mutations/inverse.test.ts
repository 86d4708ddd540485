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
  test('restores all, where nobody changed anything meanwhile', () => {
    fc.assert(
      fc.property(stored, fc.array(step), (rows, steps) => {
        const effects = effectsOf(write(rows, run(steps)))
        const changed = made(rows, run(steps))
        expect(made(changed, (m) => takeBack(effects, m))).toEqual(rows)
      }),
    )
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
