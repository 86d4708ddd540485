import { StorageError } from '../base/errors.ts'
import { epochAndCallerOf, isSid } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { StoreValue } from '../storage/store.ts'

/**
 * The layout of the local database in the tables of a store.
 *
 * - `meta`: `fence`, a number that each new leader raises; `head`, a {@link Head}; `manifest`, the {@link Manifest} of
 *   the pages; `repair`, a Repair; `caller`, the user who owns the data, as the service names the user; `life`, a random
 *   name that changes whenever the user signs out.
 * - `pages`: by `<generation>/<n>`, the JSON text of an array of rows. A page is never changed: changed rows go into a
 *   new page under a new key. Pages that the manifest does not list are leftovers of a writer that did not finish.
 * - `journal`: by {@link journalKey}, a delta: the position before it, the position after it, the time when it was
 *   stored, and the JSON text of its ops.
 *
 * If the format differs, pages and journal are dropped, since they can be fetched again. `fence`, `caller`, `life`
 * and the table `outbox` are kept.
 */
export const format = 3

export type Head = {
  readonly format: typeof format
  /** The writer that made the manifest, as `<fence>.<n>`. No two manifests have the same. */
  readonly generation: string
  /** The position of the pages, on which the journal builds. */
  readonly base: number
  /** When `base` was stored, in ms since the epoch. */
  readonly at: number
  /** The version of the models for which pages and journal are written. */
  readonly version: number
  /** The name of the snapshot that the data began with: checkpoints keep it. */
  readonly copy?: string
  readonly epoch?: string
}

/** The current pages, in order. If two rows are of the same record, the later row is the valid one. */
export type Manifest = readonly PageEntry[]

export type PageEntry = {
  readonly key: string
  /** The length of the page's text, in UTF-16 units. */
  readonly size: number
  /** The number of rows of each type. */
  readonly types: readonly (readonly [t: string, rows: number])[]
}

export const metaKeys = {
  fence: 'fence',
  head: 'head',
  manifest: 'manifest',
  repair: 'repair',
  caller: 'caller',
  life: 'life',
} as const

/** Whether `value` is the head of another format. */
export function isOtherFormat(value: StoreValue | undefined): boolean {
  return isObject(value) && typeof value.format === 'number' && value.format !== format
}

/**
 * `value` as a head; `undefined` if nothing is stored or the head has another format. Throws a StorageError of code
 * `unreadable` if `value` is not a head.
 */
export function readHead(value: StoreValue | undefined): Head | undefined {
  if (value === undefined || isOtherFormat(value)) return undefined
  if (isObject(value) && value.format === format) {
    const { generation, base, at, version = 1, copy } = value
    if (
      typeof generation === 'string' &&
      isSid(base) &&
      typeof at === 'number' &&
      typeof version === 'number'
    )
      return {
        format,
        generation,
        base,
        at,
        version,
        ...(typeof copy === 'string' && { copy }),
        ...epochAndCallerOf(value),
      }
  }
  throw unreadable('The position')
}

/** `value` as a manifest. Throws a StorageError of code `unreadable` if `value` is not a manifest. */
export function readManifest(value: StoreValue | undefined): Manifest {
  if (Array.isArray(value) && value.every(isPageEntry)) return value
  throw unreadable('The list of pages')
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
  const advice = 'the client fetches the data again'
  return new StorageError('unreadable', `${what} in the local database cannot be read; ${advice}.`, { cause })
}

/** The key of the journal record after the one with the key `last`. Keys sort in the order in which they are written. */
export function journalKey(last?: string): string {
  return digits(last === undefined ? 0 : Number(last) + 1)
}

export function digits(n: number): string {
  return String(n).padStart(16, '0')
}

/** The first key after `key`: the end of a span that includes `key`. */
export function after(key: string): string {
  return `${key}!`
}

/** The key of page `n` of the writer `id`. */
export function pageKey(id: string, n: number): string {
  return `${id}/${n}`
}

/** The writer of the page with the key `key`. */
export function generationOf(key: string): string {
  return key.slice(0, key.indexOf('/'))
}
