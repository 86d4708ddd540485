import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, start } from '../../examples/team-app/server.mjs'
import { findChromium } from '../setup/find-browsers.mjs'

let app: App
let browser: Browser
let page: Page
const failures: string[] = []

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
  app = await start()
  page = await browser.newPage({ viewport: { width: 390, height: 800 } })
  page.on('pageerror', ({ message }) => failures.push(message))
  await page.goto(app.url)
})

afterAll(async () => {
  await browser.close()
  await app.close()
})

const paneOf = (user: string) =>
  page.locator('.pane', { has: page.getByRole('heading', { name: user, exact: true }) })
const titlesIn = (user: string) =>
  paneOf(user)
    .getByLabel('Title')
    .evaluateAll((inputs) => inputs.map((input) => (input instanceof HTMLInputElement ? input.value : '')))
const add = async (user: string, label: string, text: string) => {
  await paneOf(user).getByLabel(label).fill(text)
  await page.keyboard.press('Enter')
}

test('a statement that changes 1 000 rows is shown in both panes', async () => {
  await expect.poll(() => titlesIn('Ada')).toContain('Mend the cable')
  await expect.poll(() => titlesIn('Ben')).toContain('Paint the ferry')
  await app.query(
    `insert into issues (team_id, project_id, title, author_id)
     select 2, 3, 'Check buoy ' || n, 2 from generate_series(1, 1000) n`,
  )
  for (const user of ['Ada', 'Ben']) await expect.poll(() => paneOf(user).textContent()).toContain('996 more')
  await app.query("update issues set status = 'closed' where team_id = 2 and project_id = 3")
  for (const user of ['Ada', 'Ben']) {
    await expect.poll(() => paneOf(user).textContent()).toContain('0 of 1001 open')
  }
})

test('a title that a constraint refuses is undone, and the pane says why', async () => {
  await add('Ben', 'Add an issue to Fleet', 'x'.repeat(61))
  await expect.poll(() => paneOf('Ben').locator('.refused').textContent()).toContain('1 to 60 characters')
  expect(await titlesIn('Ben')).not.toContain('x'.repeat(61))
})

test('a note is shown to its user alone, until it becomes an issue of the team', async () => {
  await add('Ada', 'Add a note', 'Oil the winch')
  await expect.poll(() => paneOf('Ada').getByText('Oil the winch').count()).toBe(1)
  expect(await paneOf('Ben').textContent()).not.toContain('Oil the winch')
  await paneOf('Ada').getByRole('button', { name: 'Make it an issue' }).click()
  await expect.poll(() => titlesIn('Ben')).toContain('Oil the winch')
  expect(await paneOf('Ada').getByText('Oil the winch').count()).toBe(0)
})

test('nothing is wider than the page of a phone', async () => {
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  expect(failures).toEqual([])
})
