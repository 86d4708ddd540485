import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFirefox } from '../setup/find-browsers.mjs'
import type { Engine } from './engine.ts'
import { type EngineProcess, found, startProcess } from './engine-process.ts'

/** Nothing that talks to anybody, and nothing that asks. */
const preferences = {
  'app.update.enabled': false,
  'browser.aboutwelcome.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.enabled': false,
}

/** Firefox opens the address that it is started with: it needs no driver. */
export async function launchFirefox(profile: string): Promise<Engine> {
  const path = found('Firefox', findFirefox())
  const file = join(profile, 'user.js')
  await writeFile(file, Object.entries(preferences).map(lineOf).join(''))
  let running: EngineProcess | undefined
  return {
    // That of all pages together, in KiB.
    limit: (_, bytes) =>
      appendFile(file, lineOf(['dom.quotaManager.temporaryStorage.fixedLimit', Math.floor(bytes / 1024)])),
    setOnline: undefined,
    clear: undefined,
    halt: undefined,
    async open(...urls) {
      await running?.quit()
      const env = { ...process.env, HOME: profile, MOZ_HEADLESS: '1', MOZ_CRASHREPORTER_DISABLE: '1' }
      running = startProcess(path, ['--no-remote', '--profile', profile, ...urls], { env, stdio: 'ignore' })
    },
    close: async () => running?.quit(),
    kill: async () => running?.kill(),
  }
}

function lineOf([name, value]: readonly [name: string, value: unknown]): string {
  return `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`
}
