/** What one fetch brought; it is applied and durable. */
export interface SyncResult {
  readonly kind: 'bootstrap' | 'delta'
  /** Up to here: `lastSyncId` may be above it, by a push that is shown and yet to be confirmed. */
  readonly sid: number
  /** Records that changed; of a bootstrap, rows that came. */
  readonly changes: number
}
