import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DemoPage } from './demo-page.ts'
import type { Pane } from './pane.ts'

const everyStep = 'on disk, accepted, synced'

let opened: DemoPage
let ada: Pane
let ben: Pane

beforeAll(async () => {
  opened = await DemoPage.open('--country', 'IS')
  ada = opened.ada
  ben = opened.ben
  for (const pane of opened.panes) {
    await pane.says('Live')
    await pane.search('reykjavik')
    await pane.says('1 place')
  }
})
afterAll(() => opened?.close())

describe('with both cables whole', () => {
  test('an edit goes through every step, and shows in the other pane', async () => {
    await ada.edit('Reykjavík', { Note: 'Bring a coat', Rating: 4 })
    await ada.lastEdit('Edit Reykjavík', everyStep)
    for (const pane of opened.panes) await pane.shows('Reykjavík', { Note: 'Bring a coat', Rating: 4 })
  })

  test('what the page shows visually is also in its text', async () => {
    await ada.list.getByRole('row', { name: /4 stars/ }).waitFor()
    await ada.region.getByRole('heading', { name: 'Ada', exact: true }).waitFor()
  })

  test('a digit on a row rates its place, and the keys undo it and do it again', async () => {
    const { keyboard } = opened.page
    await ben.place('Reykjavík').focus()
    await keyboard.press('2')
    await ada.shows('Reykjavík', { Note: 'Bring a coat', Rating: 2 })
    await keyboard.press('Control+z')
    await ada.shows('Reykjavík', { Note: 'Bring a coat', Rating: 4 })
    await keyboard.press('Control+Shift+Z')
    await ada.shows('Reykjavík', { Note: 'Bring a coat', Rating: 2 })
    await ben.lastEdit('Edit Reykjavík', everyStep)
  })

  test('the editor takes the focus, Escape closes it, and the focus is back on the row', async () => {
    const { page } = opened
    await ada.place('Reykjavík').focus()
    await page.keyboard.press('Enter')
    const focused = () => page.evaluate(() => document.activeElement?.closest('label, button')?.textContent)
    await expect.poll(focused).toBe('Note')
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe('Reykjavík')
  })

  test('a place that is added is in both lists, and goes when its user deletes it', async () => {
    for (const pane of opened.panes) await pane.search('Reykjavik Harbour')
    await ada.press('Add a place')
    await ada.write('New place', { Name: 'Reykjavík Harbour', Note: 'Whales', Rating: 5 })
    for (const pane of opened.panes) await pane.shows('Reykjavík Harbour', { Note: 'Whales', Rating: 5 })
    await ben.place('Reykjavík Harbour').click()
    await ben.press('Delete')
    for (const pane of opened.panes) await pane.says('0 places')
    await ben.lastEdit('Delete Reykjavík Harbour', everyStep)
    for (const pane of opened.panes) await pane.search('reykjavik')
  })

  test('an edit that breaks a rule of the server comes back with the reason', async () => {
    await ada.edit('Reykjavík', { Rating: 6 })
    const refused = ada.refused('Edit Reykjavík')
    await refused.getByText('There are no more than 5 stars.').waitFor()
    await ada.lastEdit('Edit Reykjavík', 'refused')
    await ada.shows('Reykjavík', { Note: 'Bring a coat', Rating: 2 })
    await refused.getByRole('button', { name: 'Discard' }).click()
    await refused.waitFor({ state: 'detached' })
    expect(await ada.list.evaluate((list) => list === document.activeElement)).toBe(true)
  })

  test('a town that nobody added cannot be deleted: it goes, and is back', async () => {
    await ben.place('Reykjavík').click()
    await ben.press('Delete')
    const refused = ben.refused('Delete Reykjavík')
    await refused.getByText(/Only places that users have added can be deleted/).waitFor()
    await ben.shows('Reykjavík', { Note: 'Bring a coat', Rating: 2 })
    await refused.getByRole('button', { name: 'Discard' }).click()
    await refused.waitFor({ state: 'detached' })
  })
})

describe('with both cables cut', () => {
  test('different fields of one place are edited, and each edit waits on its disk', async () => {
    for (const pane of opened.panes) await pane.cut()
    await ada.edit('Reykjavík', { Note: 'Bring two coats' })
    await ben.edit('Reykjavík', { Rating: 3 })
    await ben.edit('Reykjavík', { Rating: 5 })
    for (const pane of opened.panes) await pane.lastEdit('Edit Reykjavík', 'on disk')
    await ada.says('1 to send')
    await ben.says('2 to send')
    await ada.shows('Reykjavík', { Note: 'Bring two coats', Rating: 2 })
    await ben.shows('Reykjavík', { Note: 'Bring a coat', Rating: 5 })
  })

  test('a reload keeps what was written', async () => {
    await ben.press('Reload')
    await ben.search('reykjavik')
    await ben.shows('Reykjavík', { Note: 'Bring a coat', Rating: 5 })
    await ben.says('2 to send')
    await ben.lastEdit('Edit Reykjavík', 'on disk')
  })

  test('mended, both have both', async () => {
    for (const pane of opened.panes) await pane.mend()
    for (const pane of opened.panes) {
      await pane.shows('Reykjavík', { Note: 'Bring two coats', Rating: 5 })
      await pane.lastEdit('Edit Reykjavík', everyStep)
      expect(await pane.refused('Edit Reykjavík').count()).toBe(0)
    }
  })
})

describe('the same field, with both cables cut', () => {
  test('the last one to reconnect is refused, and sees the value before, the own value and the current one', async () => {
    for (const pane of opened.panes) await pane.cut()
    await ada.edit('Reykjavík', { Note: 'Ada was here' })
    await ben.edit('Reykjavík', { Note: 'Ben was here' })
    await ada.mend()
    await ada.lastEdit('Edit Reykjavík', everyStep)
    await ben.mend()
    const refused = ben.refused('Edit Reykjavík')
    await expect
      .poll(() => refused.locator('tbody :is(th, td)').allTextContents())
      .toEqual(['Note', 'Bring two coats', 'Ben was here', 'Ada was here'])
    for (const pane of opened.panes) await pane.shows('Reykjavík', { Note: 'Ada was here', Rating: 5 })
  })

  test('the refused edit is still there after a reload of the page', async () => {
    await opened.page.reload()
    for (const pane of opened.panes) await pane.search('reykjavik')
    await ben.refused('Edit Reykjavík').waitFor()
    await ben.says('Live')
  })

  test('Retry writes it once more, on top of what is there now', async () => {
    const refused = ben.refused('Edit Reykjavík')
    await refused.getByRole('button', { name: 'Retry' }).click()
    for (const pane of opened.panes) await pane.shows('Reykjavík', { Note: 'Ben was here', Rating: 5 })
    await ben.lastEdit('Edit Reykjavík', everyStep)
    expect(await refused.count()).toBe(0)
  })

  test('Undo takes back what was sent, and Redo brings it again', async () => {
    await ada.edit('Reykjavík', { Rating: 1 })
    await ada.lastEdit('Edit Reykjavík', everyStep)
    await ada.press('Undo')
    await ben.shows('Reykjavík', { Note: 'Ben was here', Rating: 5 })
    await ada.press('Redo')
    await ben.shows('Reykjavík', { Note: 'Ben was here', Rating: 1 })
  })

  test('with nothing to undo, the button is off, and the keys say so, above what was refused', async () => {
    await ben.edit('Reykjavík', { Rating: 6 })
    const refused = ben.refused('Edit Reykjavík')
    await refused.waitFor()
    await ben.press('Reload')
    await ben.says(/places$/)
    await expect.poll(() => ben.region.getByRole('button', { name: 'Undo' }).isDisabled()).toBe(true)
    await ben.list.locator('tbody button').first().press('Control+z')
    const notice = ben.region.getByText('There is nothing to undo.')
    const { y, height } = (await notice.boundingBox()) ?? { y: Number.NaN, height: 0 }
    expect(y + height).toBeLessThan((await refused.boundingBox())?.y ?? 0)
  })

  test('a place that is opened beside what was refused shows the field that it begins with', async () => {
    await ben.list.locator('tbody button').first().click()
    const field = ben.region.getByRole('form').getByRole('textbox', { name: 'Note' })
    const isInSight = () =>
      field.evaluate((input) => {
        const { x, y, width, height } = input.getBoundingClientRect()
        return document.elementFromPoint(x + width / 2, y + height / 2) === input
      })
    await expect.poll(isInSight).toBe(true)
  })
})

test('nothing failed in the page', () => {
  expect(opened.failures).toEqual([])
})
