import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { findWebKit, findXvfb } from '../setup/find-browsers.mjs'
import type { Engine } from './engine.ts'
import { type EngineProcess, found, startProcess } from './engine-process.ts'

/** WebKitGTK in its MiniBrowser, which opens the address that it is started with, on a screen of its own. */
export async function launchWebKit(profile: string): Promise<Engine> {
  const path = found('WebKitGTK', findWebKit())
  const screen = await startScreen()
  const env = {
    ...process.env,
    DISPLAY: screen.display,
    HOME: profile,
    XDG_DATA_HOME: `${profile}/data`,
    XDG_CACHE_HOME: `${profile}/cache`,
    XDG_CONFIG_HOME: `${profile}/config`,
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1',
    WEBKIT_DISABLE_COMPOSITING_MODE: '1',
  }
  let running: EngineProcess | undefined
  return {
    limit: undefined,
    setOnline: undefined,
    clear: undefined,
    halt: undefined,
    async open(...urls) {
      await running?.quit()
      running = startProcess(path, urls, { env, stdio: 'ignore' })
    },
    async close() {
      await running?.quit()
      await screen.kill()
    },
    async kill() {
      await running?.kill()
      await screen.kill()
    },
  }
}

/** An X server without a screen, under the first number that is free. */
async function startScreen(): Promise<EngineProcess & { readonly display: string }> {
  const args = ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp']
  const screen = startProcess(found('Xvfb', findXvfb()), args, {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = await once(screen.child.stdio[3] as Readable, 'data')
  return { ...screen, display: `:${String(number).trim()}` }
}
