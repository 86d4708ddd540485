import { beforeEach, describe, expect, test } from 'vitest'
import type { Payload } from '../../src/index.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { engineNames } from './engines.ts'
import { inTabs } from './in-tabs.ts'

const note = { userId: 'ada', n: 0, title: 'old', text: 'old' }
const other = { userId: 'ada' }
const theirEdit = { title: 'theirs', text: 'theirs' }

const update = (id: string, p: Payload): TxOp => ({ op: 'u', t: 'Note', id, p })

describe.each(engineNames)('in %s', (engineName) => {
  const tabs = inTabs(engineName)
  const { open, ask, leave, clear, halt } = tabs

  beforeEach(() =>
    tabs.service.write(
      { op: 'i', t: 'Note', id: 'note', p: note },
      { op: 'i', t: 'Note', id: 'other', p: other },
    ),
  )

  test('invariant 40: another tab stores the data once the tab that did is closed', async () => {
    await open('first', 'second', 'later')
    await ask('first', 'start')
    await ask('second', 'start')
    const isFirst = (await ask('first', 'role')) === 'leader'
    const [leader, follower] = isFirst ? ['first', 'second'] : ['second', 'first']
    expect(await ask(follower, 'role')).toBe('follower')
    await ask(leader, 'close')
    const closed = performance.now()
    await ask(follower, 'leads')
    expect(performance.now() - closed, 'ms without a leader').toBeLessThan(1_000)
    await tabs.service.write(update('note', { n: 1 }))
    await ask(follower, 'shows', 1)
    await ask(follower, 'sync')
    await ask(follower, 'close')
    await tabs.service.down()
    expect(await ask('later', 'startOffline'), 'the stored number').toBe(1)
  })

  test('invariant 42: five tabs hold one socket and show the same, and what each of them writes is sent once', async () => {
    const five = ['a', 'b', 'c', 'd', 'e']
    await open(...five)
    for (const tab of five) await ask(tab, 'start')
    await tabs.service.write(update('note', { n: 1 }))
    for (const tab of five) await ask(tab, 'shows', 1)
    const sockets = await Promise.all(five.map((tab) => ask(tab, 'sockets')))
    expect(sockets.filter((count) => count > 0)).toEqual([1])
    for (const [n, tab] of five.entries()) {
      await ask(tab, 'shows', n + 1)
      await ask(tab, 'addOne')
    }
    for (const tab of five) await ask(tab, 'synced')
    for (const tab of five) await ask(tab, 'shows', 6)
    const counts = [...(await tabs.service.changes())].flatMap(([tx, count]) =>
      tx === undefined ? [] : count,
    )
    expect(counts).toEqual([1, 1, 1, 1, 1])
  })

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

  // Of the engines, only Chromium has means to keep every page that is left, to clear what a page has stored while it stands
  // still, and to set `navigator.onLine`. What each of them stores is shown by other tests.
  if (engineName === 'chromium') {
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

    describe('a write that another tab has synced is not shown over newer data', () => {
      beforeEach(async () => {
        await open('first', 'second')
        await ask('first', 'start')
        await ask('second', 'start')
        await ask('first', 'update', 'note', { n: 1 })
        await ask('first', 'synced')
        await tabs.service.write(update('note', { n: 10 }))
        await ask('first', 'shows', 10)
        await ask('second', 'shows', 10)
        await ask('first', 'close')
      })

      async function expectOnlyNewer(): Promise<void> {
        const shown = await ask('second', 'shown')
        expect(shown.slice(shown.indexOf(10)), 'the numbers that the second tab showed').toEqual([10, 11])
        expect(await tabs.service.fields('note'), 'the note on the server').toEqual({ ...note, n: 11 })
      }

      test('with a network', async () => {
        await ask('second', 'update', 'other', { n: 1 })
        await ask('second', 'synced')
        await ask('second', 'addOne')
        await ask('second', 'settle')
        await expectOnlyNewer()
      })

      test('without a network', async () => {
        await tabs.service.down()
        await ask('second', 'offline')
        await ask('second', 'update', 'other', { n: 1 })
        await ask('second', 'retry')
        await ask('second', 'addOne')
        await tabs.service.up()
        await ask('second', 'settle')
        await expectOnlyNewer()
      })
    })

    test.each([
      ['the service is down', true],
      ['the browser is offline', false],
    ])('writes that were undone while %s never reach the server', async (_, isOnline) => {
      const added = (id: string): TxOp => ({ op: 'i', t: 'Note', id, p: note })
      await tabs.service.write(added('removed'), added('gone'))
      await open('only')
      await ask('only', 'start')
      await tabs.service.down()
      if (!isOnline) await tabs.engine.setOnline?.(false)
      await ask('only', 'offline')
      expect(await ask('only', 'isOnline'), '`navigator.onLine`').toBe(isOnline)

      await ask('only', 'update', 'note', { title: 'mine' })
      expect(await ask('only', 'undo', 50), 'the state of an update').toBe('cancelled')
      await ask('only', 'delete', 'removed')
      expect(await ask('only', 'undo', 50), 'the state of a delete').toBe('cancelled')
      await ask('only', 'update', 'gone', { title: 'mine' })
      expect(await ask('only', 'undo', 50), 'the state of another update').toBe('cancelled')

      await tabs.service.write(update('note', theirEdit), update('removed', theirEdit), {
        op: 'd',
        t: 'Note',
        id: 'gone',
      })
      const changes = await tabs.service.changes()
      await tabs.service.up()
      if (!isOnline) await tabs.engine.setOnline?.(true)
      expect(await ask('only', 'settle'), 'the reasons of the rejected writes').toEqual([])
      expect(await tabs.service.changes(), 'the changes that the server has').toEqual(changes)
      expect(await tabs.service.fields('note'), 'the note that was edited').toEqual({ ...note, ...theirEdit })
      expect(await tabs.service.fields('removed'), 'the note that was removed').toEqual({
        ...note,
        ...theirEdit,
      })
      expect(await tabs.service.fields('gone'), 'the note that somebody else removed').toBeUndefined()
    })
  }

  // The last one: where a user has signed out, a database that is gone later is not taken for evicted.
  test('invariant 72: signing out in one tab ends the others, and deletes what was not sent, as chosen', async () => {
    await open('first', 'second', 'third', 'next')
    for (const tab of ['first', 'second', 'third']) await ask(tab, 'start')
    await tabs.service.down()
    await ask('second', 'update', 'note', { n: 5 })
    const result = await ask('first', 'logout', { pending: 'discard' })
    expect(result).toEqual({ sent: 0, kept: 0, discarded: 1, rejected: 0, silentTabs: 0 })
    expect(await ask('second', 'signedOut')).toBe(0)
    expect(await ask('third', 'signedOut')).toBe(0)
    expect(await ask('next', 'databases')).toBe(0)
    expect(await ask('next', 'startOffline'), 'the stored number').toBeUndefined()
  })
})
