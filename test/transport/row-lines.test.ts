import { afterEach, expect, test, vi } from 'vitest'
import { maxDepth } from '../../src/protocol/json.ts'
import { ValueFollower } from '../../src/transport/value-follower.ts'
import { scan } from '../support/transport-snapshots.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const row = (id: number, p: object = {}) => JSON.stringify({ t: 'Issue', id: `${id}`, p })
const snapshot = (
  rows: readonly string[],
  { lines = true, feed = '\n' }: { lines?: unknown; feed?: string } = {},
) => `{"sid":1,"lines":${JSON.stringify(lines)},"rows":[${rows.map((row) => row + feed).join(',')}]}`
const rows = Array.from({ length: 100 }, (_, id) => row(id))

/** How many rows are followed, where the whole comes in chunks that end at `cuts`. */
function followed(text: string, cuts: readonly number[] = []): number {
  const follow = vi.spyOn(ValueFollower.prototype, 'follow').mockClear()
  scan(text, cuts)
  // The three keys are, too, and the two values beside the rows.
  return follow.mock.calls.length - 5
}

test('a row on a line of its own is not followed, where the snapshot says so', () => {
  expect(followed(snapshot(rows))).toBe(0)
  for (const lines of [false, 'true', 1, null]) expect(followed(snapshot(rows, { lines }))).toBe(100)
})

test('a row that does not come in one piece is followed, and no other', () => {
  const text = snapshot(rows)
  const within = text.indexOf(rows[50] ?? '') + 5
  expect(followed(text, [within])).toBe(2)
})

test('a row that may be too deep is followed', () => {
  const levels = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const text = snapshot([levels(maxDepth), levels(maxDepth + 1), row(1)])
  expect(followed(text)).toBe(1)
  expect(scan(text).broken).toEqual([`a row nests deeper than ${maxDepth} levels`, 'a row is not an object'])
})

test('an empty list of rows may have a line, or none', () => {
  for (const space of ['', '\n']) expect(scan(`{"sid":1,"lines":true,"rows":[${space}]}`).rows).toEqual([])
})

test('a snapshot whose rows are not on lines, though it says so, is refused with what is wrong', () => {
  const some = [...rows.slice(0, 50), `${row(50)},${row(51)}`, ...rows.slice(52)]
  expect(() => scan(snapshot(some))).toThrow('each of its `rows` ends with a line feed, but some do not')
})

test('a row within which there is a line is followed, unless that ends like a row', () => {
  const pretty = JSON.stringify({ t: 'Issue', id: '1', p: { a: [1, 2] } }, undefined, 2)
  expect(scan(snapshot([pretty, row(2)])).rows.map(({ id }) => id)).toEqual(['1', '2'])
  expect(() => scan(snapshot(['{"t":"Issue","id":"1","p":{"a":[1\n,2]}}']))).toThrow('JSON')
})

test('what is said to be on lines and is not is looked through once for them', () => {
  const search = vi.spyOn(Uint8Array.prototype, 'indexOf')
  const text = snapshot(rows, { feed: '' })
  expect(scan(text).rows).toHaveLength(100)
  const feeds = search.mock.calls.filter(([byte]) => byte === 0x0a)
  expect(feeds).toHaveLength(1)
})
