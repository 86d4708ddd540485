import type { Scheme } from './credentials.ts'

/** The endpoints and extensions of a server, as found by the first requests of a run. */
export interface Offer {
  readonly scheme: Scheme
  /** Whether there is `POST /tx`, and `GET /ws`. */
  readonly tx: boolean
  readonly ws: boolean
  /** The first snapshot's extensions. */
  readonly epoch: string | undefined
  readonly caller: string | undefined
  /** The content of the hello; `undefined` without a hello. */
  readonly hello:
    | { readonly features: readonly string[]; readonly heartbeatMs: number | undefined }
    | undefined
  /** The `sid` of the first snapshot. */
  readonly position: number
  /** The ids in the first snapshot. */
  readonly ids: readonly string[]
}
