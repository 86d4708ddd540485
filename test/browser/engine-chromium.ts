import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'
import { findChromium } from '../setup/find-browsers.mjs'
import type { Engine } from './engine.ts'
import { found, startProcess } from './engine-process.ts'

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--remote-debugging-port=0',
]

/** Chromium as a process of our own, so that it can be killed as one. */
export async function launchChromium(profile: string): Promise<Engine> {
  const path = found('Chromium', findChromium())
  const args = [...flags, `--user-data-dir=${profile}`, 'about:blank']
  const { child, kill } = startProcess(path, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = once(child, 'exit')
  const browser = await chromium.connectOverCDP(await endpointOf(child))
  const [context] = browser.contexts()
  const [blank] = context?.pages() ?? []
  if (!context || !blank) throw new Error('Chromium opened no page.')
  const protocol = await context.newCDPSession(blank)
  return {
    async limit(url, bytes) {
      const { origin } = new URL(url)
      await protocol.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: bytes })
    },
    async setOnline(isOnline) {
      const rest = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 }
      for (const page of context.pages()) {
        const session = await context.newCDPSession(page)
        await session.send('Network.overrideNetworkState', { offline: !isOnline, ...rest })
      }
    },
    async clear(url) {
      const { origin } = new URL(url)
      await protocol.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
    },
    async halt(part) {
      const halted = context.pages().filter((page) => page.url().includes(part))
      const sessions = await Promise.all(halted.map((page) => context.newCDPSession(page)))
      for (const session of sessions) {
        await session.send('Debugger.enable')
        await session.send('Debugger.pause')
      }
      return async () => {
        for (const session of sessions) await session.send('Debugger.disable')
      }
    },
    async open(...urls) {
      for (const url of urls) {
        const page = await context.newPage()
        await page.goto(url)
      }
    },
    async close() {
      const session = await browser.newBrowserCDPSession()
      await session.send('Browser.close').catch(() => {})
      await exited
    },
    kill,
  }
}

async function endpointOf(child: ChildProcess): Promise<string> {
  if (!child.stderr) throw new Error('Chromium has no output to read.')
  const said: string[] = []
  for await (const line of createInterface({ input: child.stderr })) {
    const [, endpoint] = /^DevTools listening on (ws:.*)$/.exec(line) ?? []
    if (endpoint) {
      child.stderr.resume()
      return endpoint
    }
    said.push(line)
  }
  throw new Error(`Chromium did not start: ${said.join('\n')}`)
}
