import { beforeEach, describe, expect, test } from 'vitest'
import { inTabs } from './in-tabs.ts'

const note = { userId: 'ada', n: 0 }

describe('in chromium', () => {
  const tabs = inTabs('chromium')
  const { open, ask, leave } = tabs

  beforeEach(() => tabs.service.write({ op: 'i', t: 'Note', id: 'note', p: note }))

  test('invariant 37: a page that comes back from the back/forward cache shows what has happened, and goes on', async () => {
    await open('first', 'second')
    await ask('first', 'start')
    await ask('second', 'start')
    for (const [n, tab] of ['first', 'second'].entries()) {
      const other = tab === 'first' ? 'second' : 'first'
      const isKept = await leave(tab, async () => {
        await ask(other, 'leads')
        await tabs.service.write({ op: 'u', t: 'Note', id: 'note', p: { n: 10 * (n + 1) } })
        await ask(other, 'shows', 10 * (n + 1))
      })
      expect(isKept, `whether the page of the ${tab} tab was kept`).toBe(true)
      await ask(tab, 'shows', 10 * (n + 1))
      await ask(tab, 'addOne')
      await ask(tab, 'synced')
      await ask(other, 'shows', 10 * (n + 1) + 1)
    }
  })
})
