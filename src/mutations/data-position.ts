/** Which data the client has: everything up to `proven` of the history `epoch`. */
export interface DataPosition {
  readonly proven: number
  /** `undefined` if the server does not name its history. */
  readonly epoch: string | undefined
}
