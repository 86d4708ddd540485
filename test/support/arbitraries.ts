import * as fc from 'fast-check'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'

/** Strings that have bitten somebody: names of Object.prototype, odd code units, the empty one. */
const oddStrings = [
  '',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '\u0000',
  '\ud800',
  '\u2028',
  '"\\',
]

export const name = fc.oneof(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(...oddStrings))

/** JSON as an engine's parser gives it, `__proto__` keys included. */
export const parsedJson = fc.json({ maxDepth: 4 }).map((text): unknown => JSON.parse(text))

export const payload = fc.dictionary(
  name,
  fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null), fc.json().map(parse)),
  { maxKeys: 4, noNullPrototype: true },
)

function parse(text: string) {
  return JSON.parse(text)
}

export const row: fc.Arbitrary<WireRow> = fc
  .record({ t: name, id: name, v: fc.option(fc.integer(), { nil: undefined }), p: payload })
  .map(({ t, id, v, p }) => (v === undefined ? { t, id, p } : { t, id, v, p }))

/** Frames over few records, so that they meet. */
export function frame(sid: fc.Arbitrary<number>): fc.Arbitrary<SyncFrame> {
  const target = { sid, t: fc.constantFrom('a', 'b'), id: fc.constantFrom('1', '2', '3') }
  return fc.oneof(
    fc.record({ op: fc.constant('i' as const), ...target, p: payload }),
    fc.record({ op: fc.constant('u' as const), ...target, p: payload }),
    fc.record({ op: fc.constant('d' as const), ...target }),
  )
}

/** A value like `base` in which some fields were replaced by anything, or left out. */
export function mutilated(
  base: fc.Arbitrary<object>,
  fields: readonly string[] = ['sid', 't', 'id', 'v', 'p', 'op', 'at', 'tx'],
): fc.Arbitrary<unknown> {
  const field = fc.constantFrom(...fields)
  return fc
    .tuple(base, fc.dictionary(field, parsedJson), fc.array(field))
    .map(([value, replaced, dropped]) => {
      const result: { [key: string]: unknown } = { ...value, ...replaced }
      for (const key of dropped) delete result[key]
      return result
    })
}
