/** The position of the client's data: it holds all changes up to `confirmed` of the history `epoch`. */
export interface DataPosition {
  readonly confirmed: number
  /** `undefined` if the server does not name its history. */
  readonly epoch: string | undefined
}
