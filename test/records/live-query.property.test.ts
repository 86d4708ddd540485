import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WireRow } from '../../src/protocol/row.ts'
import type { QuerySpec } from '../../src/records/query-spec.ts'
import type { Replica } from '../../src/records/replica.ts'
import { batch, indexes, rows, spec } from '../support/replica-arbitraries.ts'
import { apply, replaceAll, replicaOf, t } from '../support/replica-fixtures.ts'
import { expected } from '../support/replica-oracle.ts'

const step = fc.record({
  kind: fc.constantFrom('apply', 'apply', 'swap'),
  batch,
  /** The version under which all rows come once more. */
  again: fc.option(fc.constantFrom(1, 2)),
  window: fc.record({ from: fc.nat(8), to: fc.oneof(fc.nat(12), fc.constant(Number.POSITIVE_INFINITY)) }),
})

test('after any changes, a live query equals filtering, sorting and slicing all records, and notifies only of changes', () => {
  fc.assert(
    fc.property(
      rows,
      indexes,
      fc.array(spec, { minLength: 1, maxLength: 4 }),
      fc.array(step, { maxLength: 8 }),
      (initial, declared, specs, steps) => {
        const { replica, errors } = replicaOf(initial, declared)
        const model = new Map(initial.map((row) => [row.id, row]))
        const queries = specs.map((spec) => watch(replica, spec))
        for (const { kind, batch, again, window } of steps) {
          const before = queries.map(({ live, idle }) => ({ live: live.rows, idle: idle.rows }))
          const repeated = again
            ? [...model.values()].map((row) => ({ ...structuredClone(row), v: again }))
            : []
          for (const after of [...repeated, ...batch]) change(model, after)
          if (kind === 'swap') replaceAll(replica, structuredClone([...model.values()]))
          else apply(replica, ...[...repeated.filter((row) => !isIn(batch, row)), ...batch])
          for (const [i, { spec, live, idle, told }] of queries.entries()) {
            const all = expected(model.values(), spec)
            const result = text(all)
            const changed = text(before[i]?.live) !== result
            const { from, to } = window
            for (const query of [live, idle]) {
              expect(query.length).toBe(all.length)
              expect(text(query.slice(from, to))).toBe(text(all.slice(from, Math.max(from, to))))
              expect(text(query.rows)).toBe(result)
            }
            expect(told()).toBe(changed ? 1 : 0)
            expect(live.rows === before[i]?.live).toBe(!changed)
            expect(idle.rows === before[i]?.idle).toBe(!changed)
            const { where } = spec
            expect(replica.count(t, where)).toBe(expected(model.values(), { where }).length)
          }
        }
        expect(errors).toEqual([])
      },
    ),
    { numRuns: 250 },
  )
})

test('pages after the cursor of the previous page contain each record once, in order', () => {
  fc.assert(
    fc.property(
      rows,
      indexes,
      spec,
      fc.integer({ min: 1, max: 4 }),
      (initial, declared, { after, ...rest }, limit) => {
        const { replica } = replicaOf(initial, declared)
        const all = expected(initial, { ...rest, limit: undefined })
        const paged = []
        let page = replica.query(t, { ...rest, limit })
        while (page.cursor) {
          paged.push(...page.rows)
          page = replica.query(t, { ...rest, limit, after: page.cursor })
        }
        expect(text(paged)).toBe(text(all))
      },
    ),
    { numRuns: 250 },
  )
})

function watch(replica: Replica, spec: QuerySpec) {
  const live = replica.query(t, spec)
  let times = 0
  live.subscribe(() => {
    times += 1
  })
  /** How often since it was last asked. */
  const told = () => {
    const now = times
    times = 0
    return now
  }
  return { spec, live, told, idle: replica.query(t, spec) }
}

function isIn(batch: readonly (WireRow | string)[], { id }: WireRow): boolean {
  return batch.some((after) => id === (typeof after === 'string' ? after : after.id))
}

function change(model: Map<string, WireRow>, after: WireRow | string): void {
  if (typeof after === 'string') model.delete(after)
  else model.set(after.id, after)
}

/** A result as text in which -0 is 0, as it is to `===`, and Infinity a value of its own. */
function text(result: unknown): string {
  return JSON.stringify(result, (_, value) => {
    if (typeof value === 'number') return `number ${value + 0}`
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1)))
  })
}
