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

test('every button shows its whole text on a screen of 320 px', async () => {
  await opened.page.setViewportSize({ width: 320, height: 800 })
  await opened.page.getByRole('button', { name: 'Add a place' }).first().waitFor({ timeout: 60_000 })
  const cut = await opened.page.getByRole('button').evaluateAll((buttons) => {
    // A name in the list ends in an ellipsis.
    const whole = buttons.filter((button) => getComputedStyle(button).textOverflow !== 'ellipsis')
    return whole
      .filter((button) => button.scrollWidth > button.clientWidth + 1)
      .map((button) => button.textContent)
  })
  expect(cut).toEqual([])
}, 90_000)
