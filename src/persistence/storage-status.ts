export interface StorageStatus {
  readonly kind: 'durable' | 'memory'
  /** Why the data is not stored as requested, or why writing fails. */
  readonly reason?: string
}
