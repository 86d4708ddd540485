import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'
import { browser, rolesOf } from './browser.ts'

test.each([true, false])('the tab that was opened last leads (locks: %s)', async (hasLocks) => {
  const { server, open, insert } = await browser({ hasLocks })
  const tabs = [await open(), await open()]
  await insert('i1')
  expect(rolesOf(...tabs)).toEqual(['follower', 'leader'])
  await server.close()
})

test.each([true, false])(
  'the tab that comes to the front leads, and stores the data (locks: %s)',
  async (hasLocks) => {
    const { open, insert, front, stored } = await browser({ hasLocks })
    const tabs = [await open(), await open()] as const
    await front(tabs[0])
    await insert('i1')
    expect(rolesOf(...tabs)).toEqual(['leader', 'follower'])
    expect(await stored()).toEqual(['i0', 'i1'])
  },
)

test('a tab that is opened in the background leaves the lead to the one that has it', async () => {
  const { server, open } = await browser()
  const tabs = [await open(), await open({ visible: false })]
  expect(rolesOf(...tabs)).toEqual(['leader', 'follower'])
  await server.close()
})

test('another tab leads when the leader is closed', async () => {
  const { open, insert, close, stored } = await browser()
  const [first, second] = [await open(), await open()]
  await close(second)
  await insert('i1')
  expect(rolesOf(first)).toEqual(['leader'])
  expect(await stored()).toEqual(['i0', 'i1'])
})

test('invariant 40: another tab leads when the process of the leader ends', async () => {
  const { server, open } = await browser()
  const [first, second] = [await open(), await open()]
  second.kill()
  await server.settle()
  expect(rolesOf(first)).toEqual(['leader'])
  await server.close()
})

test('another tab leads when the leader stops syncing, and the front tab leads when it starts again', async () => {
  const { server, open } = await browser()
  const tabs = [await open({ visible: false }), await open()] as const
  await tabs[1].client.stop()
  await server.settle()
  expect(rolesOf(tabs[0])).toEqual(['leader'])
  await tabs[1].client.start()
  await server.settle()
  expect(rolesOf(...tabs)).toEqual(['follower', 'leader'])
  await server.close()
})

test('a page that comes back from the back/forward cache leads again', async () => {
  const { server, open, close } = await browser()
  const first = await open()
  first.leave()
  const second = await open()
  await close(second)
  expect(rolesOf(first)).toEqual(['follower'])
  await first.comeBack()
  expect(rolesOf(first)).toEqual(['leader'])
  await server.close()
})

test('a follower shows what happens, and its `sync` resolves', async () => {
  const { server, open, insert } = await browser()
  const [first] = [await open(), await open()]
  await insert('i1')
  expect(first.client.get('Item', 'i1')).toEqual({ id: 'i1', userId: 'ada' })
  expect(first.client.status.storage.kind).toBe('durable')
  await expect(server.clock.until(first.client.sync())).resolves.toMatchObject({ kind: 'delta' })
  await server.close()
})

test('invariant 2: a new leader whose data is newer than the disk stores what the disk lacks', async () => {
  const { server, open, insert, close, front, stored } = await browser({ hasLocks: false, hasChannel: false })
  const [first, second] = [await open(), await open()]
  await server.clock.until(second.client.stop())
  await insert('i1')
  await front(first)
  await insert('i2')
  expect(server.requests.filter(({ endpoint }) => endpoint === 'bootstrap')).toHaveLength(1)
  await close(first)
  expect(await stored()).toEqual(['i0', 'i1', 'i2'])
})

test('invariant 2: a new leader whose data is older than the disk first catches up', async () => {
  const { server, open, insert, close, stored } = await browser()
  const [first] = [await open(), await open()]
  await server.clock.until(first.client.stop())
  await insert('i1')
  await first.client.start()
  await insert('i2')
  expect(rolesOf(first)).toEqual(['leader'])
  expect(server.requests.filter(({ endpoint }) => endpoint === 'bootstrap')).toHaveLength(1)
  await close(first)
  expect(await stored()).toEqual(['i0', 'i1', 'i2'])
})

test('a removal that a follower has seen is not forgotten when it leads', async () => {
  const { server, open, insert, close, front, stored } = await browser({ hasLocks: false, hasChannel: false })
  await insert('i1')
  const [first, second] = [await open(), await open()]
  await server.clock.until(second.client.stop())
  await server.write([{ op: 'd', t: 'Item', id: 'i1' }], 'ada')
  await server.settle()
  await front(first)
  await close(first)
  expect(await stored()).toEqual(['i0'])
})

test('a browser that refuses locks leaves the lead to the tab that was opened last', async () => {
  const { server, open } = await browser()
  const refusing = { request: () => Promise.reject(new Error('Not here.')), crash() {} }
  const tab = await open({ environment: { locks: refusing } })
  expect(rolesOf(tab)).toEqual(['leader'])
  await server.close()
})

test('a client without a store fetches no snapshot when its page comes to the front', async () => {
  const server = mockSyncServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i0', p: {} }], 'ada')
  const device = server.device()
  const client = device.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  for (const visible of [false, true]) device.environment.lifecycle.set({ visible })
  await server.settle()
  await server.clock.until(client.sync())
  expect(server.requests.filter(({ endpoint }) => endpoint === 'bootstrap')).toHaveLength(1)
  await server.close()
})

test('a tab that comes to the front over and over shows the newest data within a second', async () => {
  const { server, open, front } = await browser()
  const [first, second] = [await open(), await open()]
  for (let n = 0; n < 6; n += 1) {
    await front(n % 2 === 0 ? first : second)
  }
  first.lifecycle.set({ visible: false })
  await server.write([{ op: 'i', t: 'Item', id: 'new', p: {} }], 'ada')
  first.lifecycle.set({ visible: true })
  const asked = server.clock.now()
  await server.clock.until(first.client.sync())
  expect(server.clock.now() - asked).toBeLessThan(1_000)
  await server.close()
})
