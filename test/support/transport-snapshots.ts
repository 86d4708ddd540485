import * as fc from 'fast-check'
import { parseSlice } from '../../src/network/raw-slice.ts'
import { SnapshotScanner } from '../../src/network/scanner.ts'
import type { SnapshotSlice } from '../../src/network/transport.ts'
import { readSnapshotHead, type SnapshotHead } from '../../src/protocol/bootstrap.ts'
import { isDeeperThan, isObject, maxDepth } from '../../src/protocol/json.ts'
import { readRow, type WireRow } from '../../src/protocol/row.ts'

export interface Scanned {
  readonly head: SnapshotHead
  readonly rows: readonly WireRow[]
  readonly broken: readonly string[]
  readonly slices: readonly SnapshotSlice[]
}

const encoder = new TextEncoder()

/** What the scanner makes of `document`, given to it in chunks that end at `cuts`. */
export function scan(
  document: string | Uint8Array,
  cuts: readonly number[] = [],
  maxRowBytes = 2 ** 24,
): Scanned {
  const bytes = typeof document === 'string' ? encoder.encode(document) : document
  const slices: SnapshotSlice[] = []
  const scanner = new SnapshotScanner(maxRowBytes, (buffer, cut) =>
    slices.push(parseSlice(buffer.take(), cut)),
  )
  const ends = [...cuts.filter((cut) => cut <= bytes.length), bytes.length].sort((a, b) => a - b)
  let from = 0
  for (const end of ends) {
    scanner.push(bytes.slice(from, end))
    from = end
  }
  const head = scanner.end()
  return {
    head,
    rows: slices.flatMap((slice) => slice.rows),
    broken: slices.flatMap((slice) => slice.broken),
    slices,
  }
}

/** What is to come of `document`, by `JSON.parse` of the whole. Throws where it is refused. */
export function oracle(document: Uint8Array): Omit<Scanned, 'slices'> {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(document))
  if (!isObject(value) || !Array.isArray(value.rows)) throw new Error('It is no snapshot.')
  const rows: WireRow[] = []
  const broken: string[] = []
  for (const item of value.rows) {
    const row = isDeeperThan(maxDepth, item) ? `a row nests deeper than ${maxDepth} levels` : readRow(item)
    if (typeof row === 'string') broken.push(row)
    else rows.push(row)
  }
  return { head: readSnapshotHead(value), rows, broken }
}

/** `body`'s result, or the word for its throwing. */
export function verdict<T>(body: () => T): T | 'refused' {
  try {
    return body()
  } catch {
    return 'refused'
  }
}

/** Where a document is cut into chunks: into a few large ones, or now and then into many of one byte. */
export const cuts = fc.oneof(
  { weight: 9, arbitrary: fc.array(fc.nat(3000), { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constant(Array.from({ length: 3000 }, (_, index) => index)) },
)
