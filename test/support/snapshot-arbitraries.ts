import * as fc from 'fast-check'
import { maxDepth } from '../../src/protocol/json.ts'
import { mutilated, parsedJson, row } from './arbitraries.ts'
import { oddJson } from './odd-json.ts'
import { mulberry32 } from './virtual.ts'

const known = fc.record(
  {
    sid: fc.oneof({ weight: 5, arbitrary: fc.nat() }, parsedJson),
    count: fc.oneof(fc.nat(20), parsedJson),
    epoch: fc.oneof(fc.string(), parsedJson),
    caller: fc.oneof(fc.string(), parsedJson),
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
    const bom = dice() < 0.1 ? '\uFEFF' : ''
    return new TextEncoder().encode(bom + oddJson({ ...unknown, ...values }, dice))
  })

const level = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
const deep = fc.integer({ min: maxDepth - 3, max: maxDepth + 3 }).map(level)
const long = row.map((row) => ({ ...row, p: { ...row.p, text: 'x"\\\n'.repeat(300) } }))

/**
 * A snapshot that says that its rows are on lines, what stands behind each of them, and whether they are: with anything
 * among them, rows of all lengths and depths.
 */
export const inLines = fc
  .tuple(
    fc.array(fc.oneof({ weight: 4, arbitrary: row }, long, deep, mutilated(row), parsedJson)),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      fc.array(fc.constantFrom('\n', '\n', '', ' ', '\n ')),
    ),
  )
  .map(([items, given]) => {
    const feeds = items.map((_, index) => given[index] ?? '\n')
    const rows = items.map((item, index) => JSON.stringify(item) + feeds[index])
    const bytes = new TextEncoder().encode(`{"lines":true,"rows":[${rows.join(',')}],"sid":7}`)
    return { bytes, isTrue: feeds.every((feed) => feed === '\n') }
  })
