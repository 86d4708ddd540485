import type { SnapshotHead } from '../protocol/bootstrap.ts'
import type { Cut } from '../transport/cut.ts'
import type { CutProgress } from '../transport/cut-snapshot.ts'
import type { SnapshotPlace } from '../transport/transport.ts'
import type { Fault } from './fault.ts'

/**
 * What a page and its worker say to each other about one snapshot: `ready`; `ask` and `answer`; then slices, each of them
 * `taken` in time, until the `end`. Raised when the messages or what is stored become others: a page may find the worker
 * of an older version in a cache.
 */
export const version = 4

export interface Ask {
  readonly kind: 'ask'
  readonly url: string
  readonly init: RequestInit
  /** Where to store the slices. */
  readonly place: SnapshotPlace | undefined
}

export type ToWorker =
  | Ask
  /** The page is done with a slice of so many bytes. */
  | { readonly kind: 'taken'; readonly bytes: number }

export type ToPage =
  | { readonly kind: 'ready'; readonly version: number }
  | {
      readonly kind: 'answer'
      readonly ok: boolean
      readonly status: number
      readonly headers: [name: string, value: string][]
      /** What it says, of one that is no 2xx. */
      readonly reason: string
    }
  | {
      readonly kind: 'slice'
      /** Not its bytes: to decode them is more for the page to do than to be handed a text. */
      readonly text: string
      readonly bytes: number
      readonly cut: Cut
      /** Of the page of the database that the worker makes of it. */
      readonly key: string | undefined
      /** How far it was before this one. */
      readonly progress: CutProgress
    }
  | { readonly kind: 'progress'; readonly progress: CutProgress }
  /** No more slices are stored: of those with a key, not all. */
  | { readonly kind: 'unstored'; readonly fault: Fault }
  /** All has come, and all that had a key is stored. */
  | { readonly kind: 'end'; readonly head: SnapshotHead; readonly progress: CutProgress }
  | { readonly kind: 'failed'; readonly fault: Fault }
