export interface StorageStatus {
  readonly kind: 'durable' | 'memory'
  /** Why it is not as was asked, or why writing to it fails. */
  readonly reason?: string
}
