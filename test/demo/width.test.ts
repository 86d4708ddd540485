import { afterAll, beforeAll, expect, test } from 'vitest'
import { DemoPage } from './demo-page.ts'

let opened: DemoPage
beforeAll(async () => {
  opened = await DemoPage.open()
})
afterAll(() => opened?.close())

test.each([320, 390, 768, 1280])('the page is not wider than a screen of %d px', async (width) => {
  await opened.page.setViewportSize({ width, height: 800 })
  await opened.page.locator('.server').waitFor()
  expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
})
