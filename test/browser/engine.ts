/** A real browser, with a profile on disk. */
export interface Engine {
  /** Opens each of `urls` in a tab of its own. Tabs that were open before may be closed. */
  open(...urls: readonly string[]): Promise<void>
  /** Ends it in good order. */
  close(): Promise<void>
  /** Ends its process as a crash would: nothing of it runs on. */
  kill(): Promise<void>
  /** Leaves pages of `url`'s origin, before it is opened, this much room for what they store. Where it cannot, `undefined`. */
  readonly limit: ((url: string, bytes: number) => Promise<void>) | undefined
  /**
   * Sets `navigator.onLine` in all tabs, with the events that come with it. Requests are made as before. `undefined` if the
   * engine has no means to set it.
   */
  readonly setOnline: ((isOnline: boolean) => Promise<void>) | undefined
  /** Clears all that pages of `url`'s origin have stored. `undefined` if the engine has no means to do it. */
  readonly clear: ((url: string) => Promise<void>) | undefined
  /**
   * Stops all tasks of the tabs whose address has `part`. Resolves with a function that lets them go on. `undefined` if the
   * engine has no means to do it.
   */
  readonly halt: ((part: string) => Promise<() => Promise<void>>) | undefined
}
