import type { Scheme } from './credentials.ts'

/** What a server has, as the first requests of a run have shown. */
export interface Offer {
  readonly scheme: Scheme
  /** Whether there is `POST /tx`, and `GET /ws`. */
  readonly tx: boolean
  readonly ws: boolean
  /** The first snapshot's extensions. */
  readonly epoch: string | undefined
  readonly caller: string | undefined
  /** What the hello lists; `undefined` without a hello. */
  readonly hello:
    | { readonly features: readonly string[]; readonly heartbeatMs: number | undefined }
    | undefined
  /** The `sid` of the first snapshot. */
  readonly position: number
  /** The ids in the first snapshot. */
  readonly ids: readonly string[]
}
