import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type App, start } from '../../examples/teams/server.mjs'
import { findChromium } from '../setup/find-browsers.mjs'

let app: App
let browser: Browser
let page: Page
const failures: string[] = []

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
  app = await start({ port: 0 })
})

beforeEach(async () => {
  page = await browser.newPage()
  page.on('pageerror', ({ message }) => failures.push(message))
  await page.goto(app.url)
})

afterAll(async () => {
  await browser.close()
  await app.close()
})

const paneOf = (user: string) =>
  page.locator('.pane', { has: page.getByRole('heading', { name: user, exact: true }) })
const teamIn = (user: string, team: string) =>
  paneOf(user).locator('div', { has: page.getByRole('heading', { name: `Team ${team}` }) })
/** The titles of the issues and the texts of the comments. */
const textsIn = (user: string, team: string) =>
  teamIn(user, team)
    .locator('li > input')
    .evaluateAll((inputs) => inputs.map((input) => (input instanceof HTMLInputElement ? input.value : '')))

test('who joins a team sees its rows at once, and who leaves it sees none of them any more', async () => {
  await expect.poll(() => textsIn('ada', 'red')).toEqual(['Mend the cable', 'It is under the bridge.'])
  expect(await textsIn('ben', 'red')).toEqual([])
  await teamIn('ben', 'red').getByRole('button', { name: 'Join' }).click()
  await expect.poll(() => textsIn('ben', 'red')).toEqual(['Mend the cable', 'It is under the bridge.'])

  await teamIn('ben', 'red').getByLabel('Add an issue to red').fill('Paint the cable')
  await page.keyboard.press('Enter')
  await expect.poll(() => textsIn('ada', 'red')).toContain('Paint the cable')

  await teamIn('ben', 'red').getByRole('button', { name: 'Leave' }).click()
  await expect.poll(() => teamIn('ben', 'red').getByRole('button', { name: 'Join' }).count()).toBe(1)
  expect(await textsIn('ben', 'red')).toEqual([])
  expect(await textsIn('ada', 'red')).toContain('Paint the cable')
  expect(failures).toEqual([])
})

test('what somebody has left is not in the page after a reload either', async () => {
  await expect.poll(() => textsIn('ada', 'red')).toContain('Mend the cable')
  await teamIn('ada', 'red').getByRole('button', { name: 'Leave' }).click()
  await expect.poll(() => teamIn('ada', 'red').getByRole('button', { name: 'Join' }).count()).toBe(1)
  await page.reload()
  await expect.poll(() => paneOf('ada').textContent()).toContain('My notes')
  await expect.poll(() => textsIn('ada', 'blue')).not.toEqual([])
  expect(await textsIn('ada', 'red')).toEqual([])
})
