import { launchChromium } from './engine-chromium.ts'

/** A real browser, with a profile on disk. */
export interface Engine {
  /** Opens `url` in a page of its own. */
  open(url: string): Promise<void>
  /** Leaves pages of `url`'s origin this much room for what they store. */
  limitStorage(url: string, bytes: number): Promise<void>
  /** Removes what pages of `url`'s origin have stored, as a user may in the settings. */
  clearStorage(url: string): Promise<void>
  /** Ends it in good order. */
  close(): Promise<void>
  /** Ends its process as a crash would: nothing of it runs on. */
  kill(): Promise<void>
}

export type EngineName = 'chromium'

export const engineNames: readonly EngineName[] = ['chromium']

const launchers: { readonly [Name in EngineName]: (profile: string) => Promise<Engine> } = {
  chromium: launchChromium,
}

/** Starts a browser with the profile in the folder `profile`. */
export function launchEngine(name: EngineName, profile: string): Promise<Engine> {
  return launchers[name](profile)
}
