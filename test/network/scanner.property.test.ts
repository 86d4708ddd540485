import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { document, inLines } from '../support/snapshot-arbitraries.ts'
import { cuts, oracle, scan, verdict } from '../support/transport-snapshots.ts'

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

/** As JSON writes it, which a slice is where a row was left out: without the sign of a zero, or what no double holds. */
const written = (rows: readonly unknown[]): unknown => JSON.parse(JSON.stringify(rows))

const summary = (document: Uint8Array, chunks: readonly number[]) => {
  const { head, rows, broken, slices } = scan(document, chunks)
  const texts: readonly unknown[] = slices.flatMap((slice) => JSON.parse(slice.text))
  return { head, rows, broken: [...broken].sort(), texts: written(texts) }
}
const expected = (document: Uint8Array) => {
  const { head, rows, broken } = oracle(document)
  return { head, rows, broken: [...broken].sort(), texts: written(rows) }
}

test('any snapshot, in any chunks, is read as `JSON.parse` reads the whole', () => {
  fc.assert(
    fc.property(document, cuts, (bytes, chunks) => {
      expect(verdict(() => summary(bytes, chunks))).toEqual(verdict(() => expected(bytes)))
    }),
    { numRuns: 600 },
  )
})

test('a snapshot with rows on lines is read as `JSON.parse` reads it; one with a wrong announcement may be refused', () => {
  fc.assert(
    fc.property(inLines, cuts, ({ bytes, isTrue }, chunks) => {
      const found = verdict(() => summary(bytes, chunks))
      if (isTrue || found !== 'refused') expect(found).toEqual(expected(bytes))
    }),
    { numRuns: 1_000 },
  )
})

test('the end of a string is found whatever its length, its escapes and its chunks', () => {
  const part = fc.constantFrom('\\', '"', '\\'.repeat(20), 'é', 'y'.repeat(20))
  const text = fc.array(part, { minLength: 10, maxLength: 60 }).map((parts) => parts.join(''))
  const places = fc.array(fc.nat(), { maxLength: 12 })
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), places, (texts, chunks) => {
      const rows = texts.map((text, n) => ({ t: 'Issue', id: `${n}`, p: { text } }))
      const bytes = new TextEncoder().encode(JSON.stringify({ sid: 1, rows }))
      const cut = chunks.map((place) => place % bytes.length)
      expect(scan(bytes, cut).rows).toEqual(rows)
    }),
    { numRuns: 600 },
  )
})

test('an edited snapshot is refused exactly if `JSON.parse` refuses it, or for a second `rows`', () => {
  fc.assert(
    fc.property(edited, cuts, (bytes, chunks) => {
      try {
        expect(summary(bytes, chunks)).toEqual(verdict(() => expected(bytes)))
      } catch (error) {
        if (error instanceof Error && /has `rows` twice/.test(error.message)) return
        if (!(error instanceof Error && error.name === 'ProtocolError')) throw error
        expect(verdict(() => expected(bytes))).toBe('refused')
      }
    }),
    { numRuns: 700 },
  )
})

test('the chunks of a snapshot make no difference, not even to the error', () => {
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
