import * as fc from 'fast-check'
import { mutilated, parsedJson, row } from './arbitraries.ts'
import { writtenOddly } from './transport-snapshots.ts'
import { mulberry32 } from './virtual-random.ts'

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
export const document = fc
  .tuple(known, fc.dictionary(fc.string(), parsedJson, { maxKeys: 3 }), fc.nat())
  .map(([values, unknown, seed]) => {
    const dice = mulberry32(seed)
    const entries = [...Object.entries(unknown), ...Object.entries(values)]
    entries.sort(() => dice() - 0.5)
    const bom = dice() < 0.1 ? '\uFEFF' : ''
    return new TextEncoder().encode(bom + writtenOddly(Object.fromEntries(entries), dice))
  })
