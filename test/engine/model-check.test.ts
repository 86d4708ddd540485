import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { ModelCheck } from '../../src/engine/model-check.ts'
import { defineModels, type ModelDefinitions, type StandardSchema } from '../../src/index.ts'
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

/** A schema that fails in other ways than by refusing. */
function schemaBy(validate: () => unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'by hand', validate: validate as never } }
}

describe('a change', () => {
  test('that keeps to its model, or is of no declared type, or a removal, is nothing to tell', () => {
    const { check, log } = checkOf({ Issue: titled })
    check.changed([
      ...changed([...rowsOf('Issue', 2, { title: 'a' }), ...rowsOf('Other', 2, {})]),
      { t: 'Issue', id: '1', before: { t: 'Issue', id: '1', p: {} }, after: undefined },
    ])
    expect(log).toEqual([])
  })

  test('with several faults is told once for each type, with the place and the count', () => {
    const { check, log } = checkOf({ Issue: titled, Note: z.object({ at: z.object({ x: z.number() }) }) })
    check.changed(changed([...rowsOf('Issue', 3, {}), ...rowsOf('Note', 1, { at: { x: 'y' } })]))
    expect(log).toEqual([
      expect.stringMatching(/^Issue 0 breaks its model at `title`: [^.]+\. 2 more of the type break it\.$/),
      expect.stringMatching(/^Note 0 breaks its model at `at\.x`: [^.]+\.$/),
    ])
  })

  test('says one sentence, whether the schema ended its own with a full stop or not', () => {
    const refusing = (message: string) => schemaBy(() => ({ issues: [{ message }] }))
    const { check, log } = checkOf({ A: refusing('too short'), B: refusing('too long.') })
    check.changed(changed([...rowsOf('A', 1, {}), ...rowsOf('B', 1, {})]))
    expect(log).toEqual(['A 0 breaks its model: too short.', 'B 0 breaks its model: too long.'])
  })
})

describe('many changes', () => {
  test('are looked at together, a little after they came', async () => {
    const { check, clock, log } = checkOf({ Issue: titled })
    check.changed(changed(rowsOf('Issue', 30, {})))
    check.changed(changed(rowsOf('Issue', 30, {})))
    expect(log).toEqual([])
    await clock.advance(100)
    const told = expect.stringMatching(/59 more of the type break it\.$/)
    expect(log).toEqual([told])
    check.changed(changed(rowsOf('Issue', 20, {})))
    await clock.advance(100)
    expect(log).toEqual([told, expect.stringMatching(/19 more of the type break it\.$/)])
  })

  test('are looked at no more once other data stands in their place, or the check has ended', async () => {
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
})

describe('a schema that cannot be used', () => {
  test('is told once as an error, and its type is looked at no more', () => {
    const { check, log } = checkOf({ Issue: schemaBy(async () => ({ value: {} })) })
    check.changed(changed(rowsOf('Issue', 5, {})))
    check.changed(changed(rowsOf('Issue', 5, {})))
    expect(log).toEqual([
      'error: The schema of `Issue` returns a promise; use a synchronous schema whose checks do not throw.',
    ])
  })

  test('does not keep the faults of other types from being told', async () => {
    const rows = [...rowsOf('Issue', 5, {}), ...rowsOf('Note', 2, {})]
    const definitions = { Issue: schemaBy(() => undefined), Note: titled }
    const told = [expect.stringMatching(/^error: /), expect.stringMatching(/^Note 0 breaks its model/)]
    const whole = checkOf(definitions, rows)
    await whole.check.replaced()
    expect(whole.log).toEqual(told)
    const single = checkOf(definitions)
    single.check.changed(changed(rows))
    expect(single.log).toEqual(told)
  })

  test('and throws is taken for one that refuses', () => {
    const throwing = schemaBy(() => {
      throw new TypeError('x is undefined')
    })
    const { check, log } = checkOf({ Issue: throwing })
    check.changed(changed(rowsOf('Issue', 2, {})))
    expect(log).toEqual([
      'Issue 0 breaks its model: The schema threw: x is undefined. 1 more of the type break it.',
    ])
  })
})

describe('a whole copy', () => {
  test('is looked at afterwards, in short turns with others between them', async () => {
    const { check, clock, log } = checkOf({ Issue: titled }, rowsOf('Issue', 10_000, {}))
    const done = check.replaced()
    expect(log).toEqual([])
    await done
    // A look at the clock after each 100 rows, each a ms; a turn takes 8.
    expect(clock.turns).toBeGreaterThan(10)
    expect(clock.turns).toBeLessThan(20)
    expect(log).toEqual([expect.stringMatching(/9999 more of the type break it\.$/)])
  })

  test('that another takes the place of is looked at no further', async () => {
    const { check, log, replace } = checkOf({ Issue: titled }, rowsOf('Issue', 10_000, {}))
    const older = check.replaced()
    await new Promise((resolve) => setImmediate(resolve))
    replace(rowsOf('Issue', 3, {}))
    await Promise.all([older, check.replaced()])
    expect(log).toEqual([expect.stringMatching(/ 2 more of the type break it\.$/)])
  })

  test('is looked at on, though the records of a type have come to it meanwhile', async () => {
    const { check, log } = checkOf({ Issue: titled, Note: titled }, [
      ...rowsOf('Issue', 10_000, {}),
      ...rowsOf('Note', 2, {}),
    ])
    await Promise.all([check.replaced(), check.replaced(['Note'])])
    expect(log).toContainEqual(expect.stringMatching(/9999 more of the type break it\.$/))
  })

  test('is looked at no further once it is stopped', async () => {
    const { check, log } = checkOf({ Issue: titled }, rowsOf('Issue', 10_000, {}))
    const done = check.replaced()
    check.stop()
    await done
    expect(log).toEqual([])
  })
})
