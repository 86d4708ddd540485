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

/** How a backend speaks. The client works with all of it. */
export interface Wire {
  /** What deltas and pushes contain: frames, or whole rows, which show no removal. @default 'frames' */
  readonly deltas?: 'frames' | 'rows'
  /**
   * How long after a change it is pushed, in ms. If it is negative, the response to a transaction comes that much later
   * than the push. @default 0
   */
  readonly pushAfterMs?: number
  /** @default true */
  readonly hasSocket?: boolean
  /** Whether frames name their transaction. @default true */
  readonly hasTx?: boolean
  /** Whether pushes have `since`. @default false */
  readonly hasSince?: boolean
}

export function startBackend(options: {
  /** @default 0, which selects a free port */
  readonly port?: number
  readonly userOf: (token: string | null | undefined) => string | undefined
  /** The number of changes to keep for deltas. @default 10_000 */
  readonly keep?: number
  /** @default the defaults of {@link Wire} */
  readonly wire?: Wire
}): Promise<Backend>
