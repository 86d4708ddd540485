export interface StorageStatus {
  /** Where data and transactions are kept. `memory`: they are gone after a restart. */
  readonly kind: 'durable' | 'memory'
  /** Why the data is not stored as requested, or why writing fails. */
  readonly reason?: string
  /** Whether the browser keeps the data until the user deletes it. Otherwise, it may evict the data for want of space. */
  readonly persisted?: boolean
  /** The space that the origin uses and may use, in bytes, as the browser estimates it from time to time. */
  readonly usage?: number
  readonly quota?: number
  /**
   * The number of unsynced transactions that the browser or the user has deleted with the database. If this page was
   * open or frozen then, it has stored its own again, and sends them.
   */
  readonly lost?: number
}
