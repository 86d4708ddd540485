import { afterAll, beforeAll, expect, test } from 'vitest'
import { DemoPage } from './demo-page.ts'

let opened: DemoPage
beforeAll(async () => {
  opened = await DemoPage.open('--country', 'IS')
})
afterAll(() => opened?.close())

test('a user signs out with an unsent edit, another signs in, and the kept edit is sent later', async () => {
  const { ada, ben, page } = opened
  for (const pane of opened.panes) await pane.says('Live')
  await ada.cut()
  await ada.search('Reykjavik')
  await ada.edit('Reykjavík', { Note: 'kept' })
  await ada.press('Sign out')
  await ada.says('1 not sent, 0 refused:')
  const folder = process.env.SCREENSHOTS
  if (folder) await page.screenshot({ path: `${folder}/choice.png` })
  await ada.press('Keep')

  const nobody = page.getByRole('region', { name: 'Nobody' })
  await nobody.getByRole('button', { name: 'Sign in as Cleo' }).click()
  const cleo = opened.pane('Cleo')
  await cleo.mend()
  await cleo.search('Reykjavik')
  await cleo.shows('Reykjavík', {})

  await cleo.press('Sign out')
  await nobody.getByRole('button', { name: 'Sign in as Ada' }).click()
  await ada.says('Live')
  await ben.search('Reykjavik')
  await ben.shows('Reykjavík', { Note: 'kept' })
  expect(opened.failures).toEqual([])
})

test('two panes of one user are a leader and a follower, and sign out together', async () => {
  const { ben, page } = opened
  await ben.press('Sign out')
  const nobody = page.getByRole('region', { name: 'Nobody' })
  await nobody.getByRole('button', { name: 'Sign in as Ada' }).click()
  const both = page.getByRole('region', { name: 'Ada', exact: true })
  await both.nth(1).getByText('Live', { exact: true }).waitFor()
  await both.getByText('Leads').waitFor()
  await both.getByText('Follows').waitFor()
  const folder = process.env.SCREENSHOTS
  for (const width of folder ? [1_280, 390] : []) {
    await page.setViewportSize({ width, height: 900 })
    await page.screenshot({ path: `${folder}/tabs-${width}.png` })
  }
  await both.first().getByRole('button', { name: 'Sign out' }).click()
  await expect.poll(() => nobody.count(), { timeout: 10_000 }).toBe(2)
  if (folder) await page.screenshot({ path: `${folder}/nobody.png` })
})
