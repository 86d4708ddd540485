/** A real browser, with a profile on disk. */
export interface Engine {
  /** Opens `url`, in a page of its own or in place of the one before. */
  open(url: string): Promise<void>
  /** Ends it in good order. */
  close(): Promise<void>
  /** Ends its process as a crash would: nothing of it runs on. */
  kill(): Promise<void>
  /** Leaves pages of `url`'s origin, before it is opened, this much room for what they store. Where it cannot, `undefined`. */
  readonly limit: ((url: string, bytes: number) => Promise<void>) | undefined
}
