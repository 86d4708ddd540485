import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import { ModelCheck } from '../../src/engine/model-check.ts'
import { defineModels, type ModelDefinitions } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { Replica } from '../../src/records/replica.ts'
import { PacedClock } from '../support/paced-clock.ts'

const titled = z.object({ title: z.string() })

/** A check over a replica with `rows`, and all that it tells. */
function checkOf(definitions: ModelDefinitions, rows: readonly WireRow[] = []) {
  const clock = new PacedClock(1)
  const replica = new Replica({ clock, onListenerError: () => {} })
  const log: string[] = []
  const check = new ModelCheck({
    models: defineModels(definitions),
    replica,
    clock,
    reporter: {
      anomalies: (found) => log.push(...found.map(({ message }) => message)),
      error: ({ message }) => log.push(`error: ${message}`),
    },
  })
  const replace = (all: readonly WireRow[]) => {
    const staging = replica.stage()
    staging.add(all)
    replica.swap(staging)
  }
  replace(rows)
  return { check, clock, replace, log }
}

const rowsOf = (t: string, count: number, p: WireRow['p']) =>
  Array.from({ length: count }, (_, index): WireRow => ({ t, id: `${index}`, p }))

const changed = (rows: readonly WireRow[]) =>
  rows.map((after) => ({ t: after.t, id: after.id, before: undefined, after }))

test('changes are looked at no more once other data stands in their place, or the check has ended', async () => {
  const { check, clock, log, replace } = checkOf({ Issue: titled })
  check.changed(changed(rowsOf('Issue', 30, {})))
  replace([])
  void check.replaced()
  await clock.advance(100)
  check.changed(changed(rowsOf('Issue', 30, {})))
  check.stop()
  await clock.advance(100)
  expect(log).toEqual([])
})
