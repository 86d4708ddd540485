import type { Engine } from './engine.ts'
import { launchChromium } from './engine-chromium.ts'
import { launchFirefox } from './engine-firefox.ts'
import { launchWebKit } from './engine-webkit.ts'

const launchers = {
  chromium: launchChromium,
  firefox: launchFirefox,
  webkit: launchWebKit,
} satisfies { readonly [name: string]: (profile: string) => Promise<Engine> }

export type EngineName = keyof typeof launchers

export const engineNames: readonly EngineName[] = ['chromium', 'firefox', 'webkit']

/** Starts a browser with the profile in the folder `profile`. */
export function launchEngine(name: EngineName, profile: string): Promise<Engine> {
  return launchers[name](profile)
}
