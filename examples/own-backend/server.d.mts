export interface Op {
  readonly op: 'i' | 'u' | 'd'
  readonly t: string
  readonly id: string
  readonly p?: { readonly [field: string]: unknown }
}

export interface Backend {
  /** For a client, ending in `/sync/v1`. */
  readonly baseUrl: string
  /** Gives the `sid` of the change. */
  write(userId: string, op: Op): number
  close(): Promise<void>
}

export function startBackend(options: {
  /** @default 0, which takes a free one */
  readonly port?: number
  readonly userOf: (token: string | null | undefined) => string | undefined
  /** @default 10_000 */
  readonly keep?: number
}): Promise<Backend>
