import { afterEach, expect, test, vi } from 'vitest'
import { ValueFollower } from '../../src/network/value-follower.ts'
import { maxDepth } from '../../src/protocol/json.ts'
import { scan } from '../support/transport-snapshots.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const row = (id: number) => JSON.stringify({ t: 'Issue', id: `${id}`, p: { title: 'Milk' } })
const rows = Array.from({ length: 100 }, (_, id) => row(id))
const snapshot = (rows: readonly string[], lines: unknown = true) =>
  `{"sid":1,"lines":${JSON.stringify(lines)},"rows":[${rows.map((row) => `${row}\n`).join(',')}]}`
const text = snapshot(rows)

/** How often the reading of `text`, in chunks that end at `cuts`, goes on with a row byte by byte. */
function follows(text: string, cuts: readonly number[] = []): number {
  const follow = vi.spyOn(ValueFollower.prototype, 'follow').mockClear()
  expect(scan(text, cuts).rows).toHaveLength(100)
  // The three keys are followed, too, and the two values beside the rows.
  return follow.mock.calls.length - 5
}

test('if the snapshot announces rows on lines, only the last row is scanned', () => {
  // And the comma before it.
  expect(follows(text)).toBe(2)
  for (const lines of [false, 'true', 1, null]) expect(follows(snapshot(rows, lines))).toBe(100)
  expect(follows(`{"rows":[${rows.map((row) => `${row}\n`).join(',')}],"sid":1,"lines":true}`)).toBe(100)
})

test('a row on a line that nests too deep is left out, and its neighbours stay', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const rowOf = (id: string, levels: number) => `{"t":"Issue","id":"${id}","p":{"a":${nested(levels - 2)}}}`
  const { slices, broken } = scan(
    snapshot([
      row(1),
      rowOf('2', maxDepth),
      rowOf('3', maxDepth + 1),
      nested(maxDepth + 1),
      '7',
      row(4),
      row(5),
    ]),
  )
  expect(slices.flatMap(({ rows }) => rows.map(({ id }) => id))).toEqual(['1', '2', '4', '5'])
  expect(JSON.parse(slices[0]?.text ?? '')).toHaveLength(4)
  const tooDeep = `a row nests deeper than ${maxDepth} levels`
  expect(broken).toEqual([tooDeep, tooDeep, 'a row is not an object'])
})

test('slices of rows on lines end after a row, and have a limited size', () => {
  const many = Array.from({ length: 30_000 }, (_, id) => row(id))
  const long = snapshot(many)
  const chunks = Array.from({ length: Math.floor(long.length / 65_536) }, (_, n) => (n + 1) * 65_536)
  const { slices } = scan(long, chunks)
  expect(slices.flatMap(({ rows }) => rows)).toHaveLength(30_000)
  const lengths = slices.slice(0, -1).map(({ text }) => text.length)
  expect(Math.min(...lengths)).toBeGreaterThan(250_000)
  expect(Math.max(...lengths)).toBeLessThan(256 * 1024 + 65_536 + 200)
})

test.each([
  ['a list', '{"t":"Issue","id":"1","p":{"a":[1\n,2]}}'],
  ['an object', '{"t":"Issue","id":"1","p":{"a":1\n,"b":2}}'],
  ['a row', '{"t":"Issue"\n,"id":"1","p":{}}'],
])(
  'a line feed before a comma within %s is refused, if the snapshot announces that there is none',
  (_, broken) => {
    expect(() => scan(snapshot([row(1), broken]))).toThrow('The snapshot is not JSON')
    expect(scan(snapshot([row(1), broken], false)).rows).toHaveLength(2)
  },
)
