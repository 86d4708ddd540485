import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mutilated, parsedJson, row } from '../support/arbitraries.ts'
import { cuts, oracle, scan, verdict, writtenOddly } from '../support/transport-snapshots.ts'
import { mulberry32 } from '../support/virtual-random.ts'

const known = fc.record(
  {
    sid: fc.oneof({ weight: 5, arbitrary: fc.nat() }, parsedJson),
    count: fc.oneof(fc.nat(20), parsedJson),
    epoch: fc.oneof(fc.string(), parsedJson),
    rows: fc.oneof(
      { weight: 9, arbitrary: fc.array(fc.oneof({ weight: 4, arbitrary: row }, mutilated(row), parsedJson)) },
      parsedJson,
    ),
  },
  { requiredKeys: ['sid', 'rows'], noNullPrototype: true },
)

/** Snapshots with anything in them, their keys in any order, as UTF-8. */
const document = fc
  .tuple(known, fc.dictionary(fc.string(), parsedJson, { maxKeys: 3 }), fc.nat())
  .map(([values, unknown, seed]) => {
    const dice = mulberry32(seed)
    const entries = [...Object.entries(unknown), ...Object.entries(values)]
    entries.sort(() => dice() - 0.5)
    const bom = dice() < 0.1 ? '\uFEFF' : ''
    return new TextEncoder().encode(bom + writtenOddly(Object.fromEntries(entries), dice))
  })

/** An edit at a place: bytes taken away, and bytes put there. */
const edit = fc.record({
  at: fc.nat(),
  removed: fc.nat(3),
  put: fc.oneof(
    fc.constantFrom(...['"', '\\', ',', ':', '[', ']', '{', '}', ' ', '0', '-', '"rows":[],', '\uFEFF', 'é']),
    fc.constant(''),
  ),
  byte: fc.option(fc.nat(255)),
})

const edited = fc.tuple(document, fc.array(edit, { minLength: 1, maxLength: 3 })).map(([bytes, edits]) => {
  let result = Buffer.from(bytes)
  for (const { at, removed, put, byte } of edits) {
    const from = at % (result.length + 1)
    const added = byte === null ? Buffer.from(put) : Buffer.of(byte)
    result = Buffer.concat([result.subarray(0, from), added, result.subarray(from + removed)])
  }
  return new Uint8Array(result)
})

const summary = (document: Uint8Array, chunks: readonly number[]) => {
  const { head, rows, broken, slices } = scan(document, chunks)
  const texts: readonly unknown[] = slices.flatMap((slice) => JSON.parse(slice.text))
  return { head, rows, broken: [...broken].sort(), texts }
}
const expected = (document: Uint8Array) => {
  const { head, rows, broken } = oracle(document)
  return { head, rows, broken: [...broken].sort(), texts: rows }
}

test('any snapshot, in any chunks, gives what JSON.parse of the whole gives', () => {
  fc.assert(
    fc.property(document, cuts, (bytes, chunks) => {
      expect(verdict(() => summary(bytes, chunks))).toEqual(verdict(() => expected(bytes)))
    }),
    { numRuns: 600 },
  )
})

test('a snapshot that was edited anywhere is refused exactly where JSON.parse refuses it, or for a second `rows`', () => {
  fc.assert(
    fc.property(edited, cuts, (bytes, chunks) => {
      try {
        expect(summary(bytes, chunks)).toEqual(verdict(() => expected(bytes)))
      } catch (error) {
        if (error instanceof Error && /carries `rows` twice/.test(error.message)) return
        if (!(error instanceof Error && error.name === 'ProtocolError')) throw error
        expect(verdict(() => expected(bytes))).toBe('refused')
      }
    }),
    { numRuns: 3000 },
  )
})

test('how the bytes are cut into chunks makes no difference, not even to the error', () => {
  const outcome = (bytes: Uint8Array, chunks: readonly number[]) => {
    try {
      return scan(bytes, chunks, 150)
    } catch (error) {
      return (error as Error).message
    }
  }
  fc.assert(
    fc.property(edited, cuts, (bytes, chunks) => {
      expect(outcome(bytes, chunks)).toEqual(outcome(bytes, []))
    }),
    { numRuns: 500 },
  )
})
