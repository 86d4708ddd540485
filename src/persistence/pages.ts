import { readJson } from '../protocol/json.ts'
import { readRow, type WireRow } from '../protocol/row.ts'
import type { StoreValue } from '../storage/store.ts'
import { unreadable } from './format.ts'
import type { Page } from './stored-data.ts'

/** The maximum size of a page with more than one row, in rows and in UTF-16 units. */
const maxRows = 1_000
const maxUnits = 256_000

/** The rows in the text of a page. Throws a StorageError of code `unreadable` if the text is not an array of rows. */
export function readPage(text: StoreValue | undefined): readonly WireRow[] {
  const rows = parseArray(text)?.map(readRow)
  if (rows?.every((row) => typeof row !== 'string')) return rows
  throw unreadable('A page of rows')
}

/** The array that `text` holds as JSON; `undefined` if `text` is anything else. */
export function parseArray(text: unknown): readonly unknown[] | undefined {
  const value = readJson(text)
  return Array.isArray(value) ? value : undefined
}

/** The number of rows of each type. */
export function typesOf(rows: readonly WireRow[]): Page['types'] {
  const types = new Map<string, number>()
  for (const { t } of rows) types.set(t, (types.get(t) ?? 0) + 1)
  return [...types]
}

/** Splits `rows` into pages. Each page is made when it is asked for. */
export function* pagesOf(rows: Iterable<WireRow>): Generator<Page> {
  let texts: string[] = []
  let held: WireRow[] = []
  let units = 0
  const page = (): Page => ({ text: `[${texts.join()}]`, types: typesOf(held) })
  for (const row of rows) {
    const text = JSON.stringify(row)
    if (texts.length === maxRows || (texts.length > 0 && units + text.length > maxUnits)) {
      yield page()
      texts = []
      held = []
      units = 0
    }
    texts.push(text)
    held.push(row)
    units += text.length
  }
  if (texts.length > 0) yield page()
}
