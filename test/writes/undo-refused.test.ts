import type { SyncClient } from 'instep'
import { expect, test, vi } from 'vitest'
import { inStep, newDevice, rewriting } from '../support/test-backend.ts'

const inbox = (client: SyncClient) => client.outbox.list({ state: 'rejected' })

test('a refused undo names the transaction that it undoes, also after a restart and a retry', async () => {
  let isClosed = false
  const authorize = () => (isClosed ? { message: 'It is closed.' } : undefined)
  const { backend, device, client } = await inStep({ 1: { title: 'Milk' } }, {}, { authorize })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'Bread' }), { label: 'Rename' })
  await backend.clock.until(tx.synced)
  isClosed = true
  await backend.clock.until(tx.undo())
  await backend.clock.advance(10_000)
  expect(tx.undoOf).toBeUndefined()
  expect(inbox(client)).toMatchObject([{ label: 'Rename', undoOf: tx.id }])

  const restarted = await device.restart()
  await backend.clock.advance(10_000)
  const [refused] = inbox(restarted)
  expect(refused).toMatchObject({ label: 'Rename', undoOf: tx.id })
  expect(restarted.outbox.retry(refused?.id ?? '').undoOf).toBe(tx.id)
})

/**
 * Two tabs of Ada's at a server that does not know `was`, where somebody else changes the record right before each of
 * the next `conflicts` transactions.
 */
async function twoTabs(conflicts: number) {
  const { backend, device } = newDevice()
  await backend.insert('1', { title: 'Milk', n: 0 })
  backend.push = (message, send) => send('hello' in message ? { hello: { sid: backend.head } } : message)
  const withoutFeatures = rewriting('tx', (body) => ({ ...body, features: [] }))
  backend.intercept = withoutFeatures
  const tabs = [await device.live(), await device.live()]
  const rejected = vi.fn()
  const counts = new Set<number>()
  for (const tab of tabs) {
    tab.on('rejected', rejected)
    tab.on('status', ({ writes }) => counts.add(writes.rejected))
  }
  const undo = async (tab: number) => {
    const tx = tabs[tab]?.mutate((m) => m.update('Note', '1', { title: 'Bread' }))
    await backend.clock.until(tx?.synced ?? Promise.reject())
    let left = conflicts
    backend.intercept = async (request, pass) => {
      if (request.url.endsWith('/tx') && left > 0) {
        left -= 1
        await backend.update('1', { n: left })
      }
      return withoutFeatures(request, pass)
    }
    const before = backend.received.length
    await backend.clock.until(tx?.undo() ?? Promise.reject())
    await backend.clock.advance(60_000)
    return new Set(backend.received.slice(before)).size
  }
  return { backend, tabs, rejected, counts, undo }
}

test.each([0, 1])('nobody hears of a conflict after which an undo is made again, in tab %i', async (tab) => {
  const { backend, rejected, counts, undo } = await twoTabs(2)
  await undo(tab)
  expect(rejected).not.toHaveBeenCalled()
  expect([...counts].filter((count) => count > 0)).toEqual([])
  expect(await backend.rows()).toMatchObject({ 1: { title: 'Milk' } })
})

test.each([0, 1])('an undo that conflicts three times waits in the inbox, in tab %i', async (tab) => {
  const { tabs, rejected, undo } = await twoTabs(9)
  expect(await undo(tab)).toBe(3)
  const refused = tabs[tab] ? inbox(tabs[tab]) : []
  expect(refused).toMatchObject([{ rejection: { reason: 'conflict' } }])
  expect(rejected).toHaveBeenCalled()
})
