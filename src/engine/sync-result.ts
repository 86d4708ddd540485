/** The result of one fetch. It is applied and durable. */
export interface SyncResult {
  readonly kind: 'bootstrap' | 'delta'
  /** The position that is confirmed now. `lastSyncId` may be higher, because of a push that is not confirmed yet. */
  readonly sid: number
  /** The number of records that changed, also of types that are not in memory; after a bootstrap, the number of rows in the snapshot. */
  readonly changes: number
}
