export interface Op {
  readonly op: 'i' | 'u' | 'd'
  readonly t: string
  readonly id: string
  readonly p?: { readonly [field: string]: unknown }
}

export interface Backend {
  /** The `baseUrl` option of a client. Ends in `/sync/v1`. */
  readonly baseUrl: string
  /** Writes one op for a user. Returns the `sid` of the change. Throws an Error if the op is refused. */
  write(userId: string, op: Op): number
  close(): Promise<void>
}

export function startBackend(options: {
  /** @default 0, which selects a free port */
  readonly port?: number
  readonly userOf: (token: string | null | undefined) => string | undefined
  /** The number of changes to keep for deltas. @default 10_000 */
  readonly keep?: number
}): Promise<Backend>
