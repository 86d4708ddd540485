import { type ErrorName, isSyncError, SyncError, toError } from '../base/errors.ts'
import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { Cut } from '../transport/cut.ts'
import type { SnapshotPlace, SnapshotProgress } from '../transport/transport.ts'

/**
 * What a page and its worker say to each other about one snapshot: `ready`; `fetch`, `answer`; `read`, and then slices,
 * each of them `taken` in time, until the `end`. Raised when the messages become others: a page may find the worker of
 * an older version in a cache.
 */
export const version = 1

export type ToWorker =
  | { readonly kind: 'fetch'; readonly url: string; readonly init: RequestInit }
  | ToRead
  /** The page is done with one slice. */
  | { readonly kind: 'taken' }

export interface ToRead {
  readonly kind: 'read'
  readonly idleMs: number
  readonly maxRowBytes: number
  readonly place: SnapshotPlace | undefined
}

export type ToPage =
  | { readonly kind: 'ready'; readonly version: number }
  | {
      readonly kind: 'answer'
      /** 0 for a redirect. */
      readonly status: number
      readonly headers: [name: string, value: string][]
      /** What it says, of one that is no 2xx. */
      readonly text: string
    }
  | {
      readonly kind: 'slice'
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly cut: Cut
      /** Of the page of the database that the worker makes of it. */
      readonly key: string | undefined
    }
  | { readonly kind: 'progress'; readonly progress: SnapshotProgress }
  /** Not all is stored, and no more will be. */
  | { readonly kind: 'unstored'; readonly fault: Fault }
  /** All has come, and is stored unless it was said that it is not. */
  | { readonly kind: 'end'; readonly head: SnapshotHead; readonly progress: SnapshotProgress }
  | { readonly kind: 'failed'; readonly fault: Fault }

/** An error, as it comes through to the other side. */
export interface Fault {
  readonly name: string
  readonly code?: string
  readonly message: string
  readonly retryable?: boolean
}

export function faultOf(error: unknown): Fault {
  if (!isSyncError(error)) return { name: toError(error).name, message: toError(error).message }
  const { name, code, message, retryable } = error
  return { name, code, message, retryable }
}

/** The error that became `fault`: it has the same name and code, and so {@link isSyncError} knows it. */
export function errorOf({ name, code, message, retryable = false }: Fault): Error {
  if (code === undefined) return Object.assign(new Error(message), { name })
  // They were those of such an error.
  return new SyncError(name as ErrorName, code as SyncError['code'], message, { retryable })
}

/** The error that the worker tells; or that it says what was not to be said now, as one of another version may. */
export function unexpected(message: ToPage): Error {
  if (message.kind === 'failed') return errorOf(message.fault)
  return new Error('The worker is of another version of Instep than the page; build both together.')
}
