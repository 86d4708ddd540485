import { StorageError } from '../base/errors.ts'
import { isSid, namesOf } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { StoreValue } from '../storage/store.ts'

/**
 * How the local database lies in a store's tables.
 *
 * - `meta`: `fence`, how often it was opened; `head`, a {@link Head}; `manifest`, the {@link Manifest} of the pages;
 *   `repair`, a Repair; `caller`, the user whose data it is, as the service names it.
 * - `pages`: by `<generation>/<n>`, the JSON text of an array of rows. A page is never changed: what is to hold other
 *   rows is another page, under another key. Pages that the manifest does not list are left over from a writer that
 *   did not come to its end.
 * - `journal`: by {@link journalKey}, a delta: what it follows from, how far it reaches, when it was stored, and the JSON text of its
 *   ops; {@link taken} where a former client would go on.
 *
 * Another format drops pages and journal, which can be fetched again; `fence`, `caller` and the table `outbox` outlive it.
 */
export const format = 2

export type Head = {
  readonly format: typeof format
  /** The writer that made the manifest, `<fence>.<n>`; another manifest has another. */
  readonly generation: string
  /** The position of the pages, on which the journal builds. */
  readonly base: number
  /** When that position was stored, in ms since the epoch. */
  readonly at: number
  /** The version of the models whose shape pages and journal have. */
  readonly version: number
  readonly epoch?: string
}

/** The pages that count, in order: of two rows of one record, the later one holds. */
export type Manifest = readonly PageEntry[]

export type PageEntry = {
  readonly key: string
  /** The length of its text, in UTF-16 units. */
  readonly size: number
  /** How many rows of each type it holds. */
  readonly types: readonly (readonly [t: string, rows: number])[]
}

export const metaKeys = {
  fence: 'fence',
  head: 'head',
  manifest: 'manifest',
  repair: 'repair',
  caller: 'caller',
} as const

/** Whether `value` is a head of another format. */
export function isOtherFormat(value: StoreValue | undefined): boolean {
  return isObject(value) && typeof value.format === 'number' && value.format !== format
}

/**
 * `value` as a head; `undefined` where there is none, or one of another format. Throws a StorageError of code `unreadable`
 * where it is no head.
 */
export function readHead(value: StoreValue | undefined): Head | undefined {
  if (value === undefined || isOtherFormat(value)) return undefined
  if (isObject(value) && value.format === format) {
    const { generation, base, at, version = 1 } = value
    if (
      typeof generation === 'string' &&
      isSid(base) &&
      typeof at === 'number' &&
      typeof version === 'number'
    )
      return { format, generation, base, at, version, ...namesOf(value) }
  }
  throw unreadable('The position')
}

/** Throws a StorageError of code `unreadable` where `value` is no manifest. */
export function readManifest(value: StoreValue | undefined): Manifest {
  if (Array.isArray(value) && value.every(isPageEntry)) return value
  throw unreadable('The list of its pages')
}

function isPageEntry(value: unknown): value is PageEntry {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    typeof value.size === 'number' &&
    Array.isArray(value.types)
  )
}

export function sizeOf(manifest: Manifest): number {
  return manifest.reduce((sum, { size }) => sum + size, 0)
}

export function unreadable(what: string, cause?: unknown): StorageError {
  const advice = 'the data has to be fetched again'
  return new StorageError('unreadable', `${what} in the local database cannot be read: ${advice}.`, { cause })
}

/** Stands in the journal in place of a record. */
export const taken = true

/**
 * Where the client that opened the database as number `fence` adds to a journal whose last key is `last`. Keys stand in the
 * order in which they are written; that of its next record is known to whoever comes after it.
 */
export function journalKey(fence: number, last = ''): string {
  const [former, n] = last.split('/')
  const own = digits(fence)
  return `${own}/${digits(former === own ? Number(n) + 1 : 0)}`
}

/** The `fence` of a key of the journal, or of the name of a writer of pages. */
export function fenceOf(key: string): number {
  return Number.parseInt(key, 10)
}

/** The journal on the pages of `generation` begins there: what writers before it left does not follow from them. */
export function journalStart(generation: string): string {
  return digits(fenceOf(generation))
}

function digits(n: number): string {
  return String(n).padStart(16, '0')
}

/** The first key behind `key`, for the end of a span that includes it. */
export function after(key: string): string {
  return `${key}!`
}

/** The page `n` of the writer `id`. */
export function pageKey(id: string, n: number): string {
  return `${id}/${n}`
}

/** The writer of the page at `key`. */
export function generationOf(key: string): string {
  return key.slice(0, key.indexOf('/'))
}
