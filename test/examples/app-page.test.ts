import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, start } from '../../examples/app/server/server.ts'
import { findChromium } from '../setup/find-browsers.mjs'

let folder: string
let app: App
let browser: Browser
let ada: Page
let ben: Page
const failures: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'instep-app-'))
  const page = join(folder, 'page')
  const root = fileURLToPath(new URL('../../examples/app', import.meta.url))
  await build({ root, logLevel: 'error', build: { outDir: page } })
  app = await start({ port: 0, database: join(folder, 'data'), page })
  browser = await chromium.launch({ executablePath: findChromium() ?? '', args: ['--no-sandbox'] })
  ada = await signIn('ada')
  ben = await signIn('ben')
})

afterAll(async () => {
  await browser?.close()
  await app?.close()
  await rm(folder, { recursive: true })
})

/** Opens the page in a browser of its own. */
async function signIn(user: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 768, height: 900 } })
  const page = await context.newPage()
  page.on('pageerror', ({ message }) => failures.push(message))
  await page.goto(app.url)
  await page.getByRole('button', { name: user }).click()
  return page
}

const teamIn = (page: Page, team: string) => page.getByRole('region', { name: `Team ${team}` })
const blueIn = (page: Page) => teamIn(page, 'blue').getByRole('listitem').allInnerTexts()
const statusOf = (page: Page) => page.getByRole('status').textContent()
const isShown = (page: Page, text: string) => page.getByText(text).isVisible()

async function addIssue(page: Page, title: string, hours = ''): Promise<void> {
  const form = teamIn(page, 'blue').getByRole('form', { name: 'New issue' })
  await form.getByLabel('Title').fill(title)
  await form.getByLabel('Hours').fill(hours)
  await form.getByRole('button', { name: 'Add' }).click()
}

async function rename(page: Page, title: string, next: string): Promise<void> {
  await page.getByRole('button', { name: `Edit ${title}` }).click()
  const form = page.getByRole('form', { name: `Edit ${title}` })
  await form.getByLabel('Title').fill(next)
  await form.getByRole('button', { name: 'Save' }).click()
}

test('two users see each other’s issues, and nobody else’s notes', async () => {
  await expect.poll(() => isShown(ada, 'Only Ada sees this.')).toBe(true)
  await addIssue(ada, 'Tar the boats', '3')
  await expect.poll(() => isShown(ben, 'Tar the boats')).toBe(true)
  expect(await isShown(ben, 'Only Ada sees this.')).toBe(false)
  expect(await isShown(ben, 'Mend the cable')).toBe(false)
  await expect.poll(() => statusOf(ben)).toBe('All is saved and up to date.')
})

test('who joins a team sees its issues at once, and who leaves it sees none of them', async () => {
  await teamIn(ben, 'red').getByRole('button', { name: 'Join' }).click()
  await expect.poll(() => isShown(ben, 'Mend the cable')).toBe(true)
  await teamIn(ben, 'red').getByRole('button', { name: 'Leave' }).click()
  await expect.poll(() => isShown(ben, 'Mend the cable')).toBe(false)
})

test('a form says what is wrong with each field, and adds nothing', async () => {
  const issues = await blueIn(ada)
  await addIssue(ada, '', '200')
  await expect.poll(() => isShown(ada, 'Please enter a title.')).toBe(true)
  expect(await isShown(ada, 'At most 100.')).toBe(true)
  expect(await blueIn(ada)).toEqual(issues)
})

test('a deleted issue comes back by an undo, for the other user too', async () => {
  await expect.poll(() => isShown(ben, 'Tar the boats')).toBe(true)
  await ada.getByRole('button', { name: 'Delete Tar the boats' }).click()
  await expect.poll(() => isShown(ben, 'Tar the boats')).toBe(false)
  await ada.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => isShown(ben, 'Tar the boats')).toBe(true)
})

test('offline, the page opens with its data, and the refused edit waits in the inbox until it is discarded', async () => {
  await ben.waitForFunction(() =>
    navigator.serviceWorker.ready.then(({ active }) => active?.state === 'activated'),
  )
  await ben.context().setOffline(true)
  await ben.reload()
  await expect.poll(() => isShown(ben, 'Tar the boats')).toBe(true)
  await rename(ben, 'Tar the boats', 'Tar them twice')
  await expect.poll(() => statusOf(ben)).toMatch(/^You are offline\. .+ 1 change waits to be sent\.$/)
  await ada.getByRole('checkbox', { name: 'Tar the boats' }).check()
  await expect.poll(() => statusOf(ada)).toBe('All is saved and up to date.')

  await ben.context().setOffline(false)
  const inbox = ben.getByRole('alert')
  await expect
    .poll(() => inbox.allInnerTexts())
    .toEqual([expect.stringContaining('“Tar the boats” is closed. Reopen it to change it.')])
  expect(await isShown(ben, 'Tar them twice')).toBe(false)
  await inbox.getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => inbox.count()).toBe(0)
  expect(await isShown(ben, 'Tar the boats')).toBe(true)
})

test.each([320, 390, 768, 1280])('the page is not wider than a screen of %d px', async (width) => {
  await ada.setViewportSize({ width, height: 900 })
  await addIssue(ada, 'x'.repeat(61))
  expect(await ada.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  await ada.getByRole('button', { name: 'Edit Paint the ferry' }).click()
  expect(await ada.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  await ada.getByRole('button', { name: 'Cancel' }).click()
})

test('signing out asks about an unsent write, and deletes the data', async () => {
  await ben.context().setOffline(true)
  await addIssue(ben, 'Never sent')
  await ben.getByRole('button', { name: 'Sign ben out' }).click()
  await expect.poll(() => isShown(ben, '1 not sent, 0 refused')).toBe(true)
  await ben.getByRole('button', { name: 'Discard' }).click()
  await expect.poll(() => isShown(ben, 'Who are you?')).toBe(true)
  await ben.context().setOffline(false)
  await ben.reload()
  await expect.poll(() => isShown(ben, 'Who are you?')).toBe(true)
  expect(await isShown(ada, 'Never sent')).toBe(false)
  expect(failures).toEqual([])
})
