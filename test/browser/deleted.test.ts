import { beforeEach, describe, expect, test } from 'vitest'
import { engineNames } from './engines.ts'
import { inTabs } from './in-tabs.ts'

const note = { userId: 'ada', n: 0 }

describe.each(engineNames)('in %s', (engineName) => {
  const tabs = inTabs(engineName)
  const { open, ask, leave, clear, halt } = tabs

  beforeEach(() => tabs.service.write({ op: 'i', t: 'Note', id: 'note', p: note }))

  test('invariant 31: two tabs go on and send all that they write while another page deletes their database', async () => {
    await open('first', 'second')
    await ask('first', 'start')
    await ask('second', 'start')
    await tabs.service.down()
    await ask('first', 'update', 'note', { a: 1 })
    await ask('second', 'update', 'note', { b: 1 })
    await ask('first', 'deleteDatabases')
    await ask('first', 'begin', 'note', { c: 1 })
    await ask('second', 'begin', 'note', { d: 1 })
    for (const tab of ['first', 'second']) {
      expect(await ask(tab, 'lifecycle')).toBe('running')
      expect(await ask(tab, 'storage')).toMatchObject({ kind: 'memory' })
    }
    await tabs.service.up()
    for (const tab of ['first', 'second']) await ask(tab, 'synced')
    for (const tab of ['first', 'second']) expect(await ask(tab, 'settle')).toEqual([])
    expect(await tabs.service.fields('note')).toEqual({ ...note, a: 1, b: 1, c: 1, d: 1 })
  })

  // Firefox loads this page anew.
  test.skipIf(engineName === 'firefox')(
    'invariant 32: a page in the back/forward cache whose database is deleted sends its writes once it is back',
    async () => {
      await open('first', 'second')
      await ask('first', 'start')
      await tabs.service.down()
      await ask('first', 'update', 'note', { a: 1 })
      const isKept = await leave('first', () => ask('second', 'deleteDatabases'))
      expect(isKept, 'whether the page was kept').toBe(true)
      expect(await ask('first', 'lifecycle')).toBe('running')
      await tabs.service.up()
      await ask('first', 'synced')
      expect(await tabs.service.fields('note')).toEqual({ ...note, a: 1 })
    },
  )

  // Of the engines, only Chromium has means to clear what a page has stored while the page stands still.
  if (engineName !== 'chromium') return

  test.each(['in the back/forward cache', 'whose tasks are stopped'])(
    'invariant 32: a page %s whose site data is cleared stores its writes again, and sends them',
    async (how) => {
      await open('first')
      await ask('first', 'start')
      await tabs.service.down()
      await ask('first', 'update', 'note', { a: 1 })
      if (how === 'whose tasks are stopped') {
        const goOn = await halt('first')
        await clear()
        await goOn?.()
      } else expect(await leave('first', async () => clear()), 'whether the page was kept').toBe(true)
      await ask('first', 'update', 'note', { b: 1 })
      expect(await ask('first', 'storage')).toMatchObject({ kind: 'durable', lost: 1 })
      await tabs.service.up()
      await ask('first', 'synced')
      expect(await tabs.service.fields('note')).toEqual({ ...note, a: 1, b: 1 })
    },
  )
})
