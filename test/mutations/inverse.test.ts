import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defineModels } from '../../src/models/models.ts'
import { draft, type Mutator } from '../../src/mutations/draft.ts'
import { effectsOf, inverseOf, tryAgain, withoutWas } from '../../src/mutations/inverse.ts'
import { jsonEqual, type Payload } from '../../src/protocol/json.ts'
import { applyTxOp } from '../../src/protocol/remaining-op.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'

type Rows = { readonly [id: string]: Payload }

const sourceOf = (rows: Rows) => ({
  of: (t: string) => ({ get: (id: string) => (rows[id] ? { t, id, p: rows[id] } : undefined) }),
})

function write(rows: Rows, body: (m: Mutator) => void) {
  return draft(body, { rows: sourceOf(rows), models: defineModels({}), newId: () => 'new', since: 0 })
}

/** `rows` after `ops`. */
function applied(rows: Rows, ops: readonly TxOp[]): Rows {
  const now = new Map<string, WireRow | undefined>(
    Object.entries(rows).map(([id, p]) => [id, { t: 'T', id, p }]),
  )
  for (const op of ops) now.set(op.id, applyTxOp(now.get(op.id), op))
  return Object.fromEntries([...now].flatMap(([id, row]) => (row ? [[id, row.p]] : [])))
}

/** What `body` makes of `rows`. */
const made = (rows: Rows, body: (m: Mutator) => void) => applied(rows, write(rows, body).ops)

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
        expect(applied(changed, inverseOf(effects))).toEqual(rows)
      }),
    )
  })

  test('invariant 74: leaves what somebody else has changed, removed or added since', () => {
    fc.assert(
      fc.property(stored, fc.array(step), fc.array(step), (rows, steps, others) => {
        const mine = made(rows, run(steps))
        const theirs = made(mine, run(others))
        const effects = effectsOf(write(rows, run(steps))).map((effect) => ({ ...effect, isWhole: true }))
        const undone = applied(theirs, inverseOf(effects))
        for (const id of ['1', '2', '3']) {
          const [base, own, other, now] = [rows[id], mine[id], theirs[id], undone[id]]
          // Somebody else has removed the record, or has added it again.
          if ((own === undefined) !== (other === undefined)) expect(now).toEqual(other)
          if (!base && own && other) expect(now).toEqual(jsonEqual(own, other) ? undefined : other)
          if (!base || !own || !other) continue
          for (const field of ['a', 'b', 'c'])
            expect(now?.[field]).toBe(other[field] === own[field] ? base[field] : other[field])
        }
      }),
    )
  })

  test('a server that does not know `was` ends with the same records', () => {
    fc.assert(
      fc.property(stored, fc.array(step), fc.array(step), (rows, steps, others) => {
        const theirs = made(made(rows, run(steps)), run(others))
        const ops = inverseOf(effectsOf(write(rows, run(steps))))
        const plain = withoutWas(ops, sourceOf(theirs), 7)
        expect(plain.flatMap((op) => op.was)).toEqual(plain.map(() => undefined))
        expect(applied(theirs, plain)).toEqual(applied(theirs, ops))
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
