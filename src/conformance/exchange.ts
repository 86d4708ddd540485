/** A request, and what came back. Credentials are in it only as `<token>` and the like. */
export interface Exchange {
  readonly request: {
    readonly method: string
    /** The address, with its query. */
    readonly url: string
    readonly headers: { readonly [name: string]: string }
    /** Shortened if it is long. */
    readonly body?: string
  }
  /** `undefined` if there was no answer; `failure` then says why. */
  readonly answer:
    | {
        readonly status: number
        /** Only those that say something about the protocol. */
        readonly headers: { readonly [name: string]: string }
        /** Shortened if it is long. */
        readonly body: string
      }
    | undefined
  readonly failure?: string
}
