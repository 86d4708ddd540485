export interface StorageStatus {
  /** Where new data and transactions are kept, as far as the client knows. `memory`: they are gone after a restart. */
  readonly kind: 'durable' | 'memory'
  /** Why the data is not stored as requested, or why writing fails: a sentence. */
  readonly reason?: string
  /** Whether the browser keeps the data until the user deletes it. Otherwise, it may evict the data for want of space. */
  readonly persisted?: boolean
  /**
   * The space that the origin uses and may use, in bytes, as the browser estimates it. The client asks when it starts,
   * after a snapshot, when a write fails or succeeds again, and when the page comes to the front.
   */
  readonly usage?: number
  readonly quota?: number
  /**
   * The number of unsynced transactions that the browser or the user has deleted with the database. If this page was
   * open or frozen then, it has stored its own again, and sends them. Without `localStorage`, which keeps the number, a
   * loss is not noticed.
   */
  readonly lost?: number
}
