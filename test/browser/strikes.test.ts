import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { seededRandom } from '../../src/testing/virtual-random.ts'
import { findChromium } from '../setup/find-browsers.mjs'
import { found } from './engine-process.ts'
import { type PageServer, servePage } from './page-server.ts'
import type { Strikes } from './pages/strikes.ts'
import { Service } from './service.ts'

/** `WRITES=1000 STRIKES=50 SEED=2` strikes longer, and otherwise. */
const { WRITES = '100', STRIKES = '4', SEED = '1' } = process.env
const [maxWrites, maxStrikes, seed] = [Number(WRITES), Number(STRIKES), Number(SEED)]

interface Tab {
  readonly page: Page
  readonly protocol: CDPSession
  /** `frozen` and `killed` pages answer nothing. */
  state: 'awake' | 'frozen' | 'killed'
}

let browser: Browser
let server: PageServer
const service = new Service()

beforeAll(async () => {
  await service.up()
  server = await servePage(new URL('./pages/strikes.ts', import.meta.url))
  browser = await chromium.launch({
    executablePath: found('Chromium', findChromium()),
    args: ['--no-sandbox'],
  })
})
afterAll(async () => {
  await browser.close()
  await server.close()
  await service.down()
})

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

test('writes of five tabs are applied once and in order, while leaders are killed and frozen', async () => {
  const random = seededRandom(seed)
  const between = (from: number, to: number) => from + random.number() * (to - from)
  for (let n = 0; n < 10; n += 1)
    await service.write({ op: 'i', t: 'Note', id: `r${n}`, p: { userId: 'ada' } })
  const context = await browser.newContext()
  const durable = new Set<string>()
  const tabs: Tab[] = []
  let opened = 0

  const ask = <Name extends keyof Strikes>(tab: Tab, name: Name): Promise<ReturnType<Strikes[Name]>> =>
    tab.page.evaluate(
      (called) =>
        (globalThis as unknown as { strikes: Record<string, () => never> }).strikes[called]?.() as never,
      name,
    )
  const awake = () => tabs.filter(({ state }) => state === 'awake')
  async function open(): Promise<void> {
    opened += 1
    const page = await context.newPage()
    const tab: Tab = { page, protocol: await context.newCDPSession(page), state: 'awake' }
    page.on('console', (message) => {
      const [, id] = /^durable (.*)$/.exec(message.text()) ?? []
      if (id) durable.add(id)
    })
    page.on('crash', () => {
      tab.state = 'killed'
    })
    await page.goto(`${server.url}?service=${service.url}`)
    void page
      .evaluate((name) => (globalThis as unknown as { strikes: Strikes }).strikes.write(name), `t${opened}`)
      .catch(() => {})
    tabs.push(tab)
  }
  async function leader(): Promise<Tab | undefined> {
    const roles = await Promise.all(awake().map(async (tab) => ({ tab, role: await ask(tab, 'role') })))
    return roles.find(({ role }) => role === 'leader')?.tab
  }
  async function kill(tab: Tab): Promise<void> {
    tab.state = 'killed'
    tab.protocol.send('Page.crash').catch(() => {})
    await tab.page.waitForEvent('crash')
  }
  /** Lets the page stand still, with all that it holds, until `thawing` is resolved. A debugger stops all its tasks. */
  async function freeze(tab: Tab, thawing: Promise<void>): Promise<void> {
    tab.state = 'frozen'
    await tab.protocol.send('Debugger.enable')
    await tab.protocol.send('Debugger.pause')
    thaws.push(
      thawing.then(async () => {
        await tab.protocol.send('Debugger.disable')
        tab.state = 'awake'
      }),
    )
  }
  const thaws: Promise<void>[] = []
  const takeovers: { readonly by: string; readonly ms: number }[] = []

  for (let n = 0; n < 5; n += 1) await open()
  for (let strike = 0; strike < maxStrikes; strike += 1) {
    await wait(between(100, 900))
    const struck = await leader()
    if (!struck) continue
    const [isKill, isShort] = [random.number() < 0.5, random.number() < 0.5]
    const at = performance.now()
    const led = new Deferred<void>()
    if (isKill) await kill(struck)
    else await freeze(struck, isShort ? wait(between(100, 3_000)) : led.promise)
    if (isKill || !isShort) {
      while (!(await leader())) await wait(20)
      takeovers.push({ by: isKill ? 'kill' : 'freeze', ms: Math.round(performance.now() - at) })
    }
    led.resolve()
    while (tabs.filter(({ state }) => state !== 'killed').length < 5) await open()
  }
  await expect.poll(() => durable.size, { timeout: 600_000 }).toBeGreaterThanOrEqual(maxWrites)
  await Promise.all(thaws)
  await Promise.all(awake().map((tab) => ask(tab, 'stop')))
  const last = performance.now()
  const states = () => Promise.all(awake().map((tab) => ask(tab, 'state')))
  await expect
    .poll(async () => new Set((await states()).map(({ pending, rows }) => `${pending} ${rows}`)).size, {
      interval: 50,
    })
    .toBe(1)
  await expect.poll(async () => (await states())[0]?.pending, { interval: 50 }).toBe(0)
  const equalMs = Math.round(performance.now() - last)

  const changes = await service.changes()
  const missing = [...durable].filter((id) => !changes.has(id))
  const repeated = [...changes].filter(([id, count]) => durable.has(id) && count !== 1)
  if (maxStrikes > 4) console.log({ durable: durable.size, opened, takeovers, equalMs })
  expect(missing).toEqual([])
  expect(repeated).toEqual([])
  expect(await outOfOrder()).toEqual([])
})

/** The changes in which a tab's number in a record is not higher than the one before. */
async function outOfOrder(): Promise<readonly string[]> {
  const last = new Map<string, number>()
  const found: string[] = []
  for (let after = 0; ; ) {
    const { changes } = await service.log.changes(after, 1_000)
    if (changes.length === 0) return found
    for (const { sid, frame } of changes) {
      const { id, p = {} } = JSON.parse(frame)
      for (const [tab, n] of Object.entries(p)) {
        if (typeof n === 'number' && n <= (last.get(`${id} ${tab}`) ?? 0))
          found.push(`${sid}: ${id} ${tab} ${n}`)
        if (typeof n === 'number') last.set(`${id} ${tab}`, n)
      }
      after = sid
    }
  }
}
