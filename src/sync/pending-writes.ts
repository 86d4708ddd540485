import type { StoredOutbox } from '../database/outbox.ts'
import type { DeltaMessage } from '../protocol/delta.ts'
import type { OverlayChange } from '../replica/overlay.ts'

/** The user's transactions, as far as the data decides about them. */
export interface PendingWrites {
  /** Counts on with each verdict of the server. */
  readonly mark: number
  /** A message came that may hold changes made by them. */
  heard(delta: DeltaMessage): void
  /** Another history came: what had been accepted in the old one is sent again. */
  requeue(): void
  /** Those that the data shows once it is proven up to `sid`, by a fetch that began at `mark`. */
  shownAt(sid: number, mark: number): readonly string[]
  /** By the same measure, what was rejected can now be compared with what the server has. */
  judgedAt(sid: number, mark: number): void
  /** These are shown by the data, and no longer laid over it. `stored` resolves once a restart would show them, too. */
  synced(ids: readonly string[], stored: Promise<void>): void
  /** The disk may have lost all that it held of them. */
  storeAgain(): void
  /** What is on disk is here again. Calls `show` to lay it over the data. */
  restored(outbox: StoredOutbox, show: (overlay: OverlayChange) => void): void
}
