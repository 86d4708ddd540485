/** A real browser, with a profile on disk. */
export interface Engine {
  /** Opens `url`, in a page of its own or in place of the one before. */
  open(url: string): Promise<void>
  /** Ends it in good order. */
  close(): Promise<void>
  /** Ends its process as a crash would: nothing of it runs on. */
  kill(): Promise<void>
  /** What only a browser can that is driven from outside; `undefined` for one that is not. */
  readonly storage: StorageControl | undefined
}

export interface StorageControl {
  /** Leaves pages of `url`'s origin this much room for what they store. */
  limit(url: string, bytes: number): Promise<void>
  /** Removes what pages of `url`'s origin have stored, as a user may in the settings. */
  clear(url: string): Promise<void>
}
