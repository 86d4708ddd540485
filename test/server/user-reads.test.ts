import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bearerToken, nodeHandler, type Snapshot } from '../../src/server/index.ts'
import { requestTo, serviceOf } from './harness.ts'

const batch = JSON.stringify({ t: 'Todo', id: '1', v: 1, p: { text: 'x'.repeat(70_000) } })

/** A service whose snapshots have so many batches, and how many of them are open. */
function setUp(batches = 1_000) {
  let open = 0
  let begun = 0
  let wait: Promise<void> | undefined
  const made = serviceOf({ authenticate: async (request) => ({ userId: bearerToken(request) ?? '' }) })
  async function* items() {
    open += 1
    try {
      for (let count = 0; count < batches; count += 1) yield batch
    } finally {
      open -= 1
    }
  }
  made.log.snapshot = async (): Promise<Snapshot> => {
    begun += 1
    await wait
    return { ...(await made.log.position()), count: 1, batches: items() }
  }
  /** Makes every snapshot wait, until the returned function is called. */
  const hold = () => {
    let release = () => {}
    wait = new Promise((resolve) => {
      release = resolve
    })
    return () => {
      wait = undefined
      release()
    }
  }
  const read = (user: string, init: RequestInit = {}) => made.ask('bootstrap', { user, ...init })
  return { ...made, read, hold, open: () => open, begun: () => begun }
}

test('a user receives two long responses at once, and a third is refused with 429', async () => {
  const { read, open } = setUp()
  const [first] = [await read('ann'), await read('ann')]
  const third = await read('ann')
  expect(third.status).toBe(429)
  expect(third.headers.get('Retry-After')).toBe('5')
  expect((await third.json()).error.code).toBe('too_many_requests')
  expect(open()).toBe(2)
  expect((await read('bob')).status).toBe(200)
  await first?.body?.cancel()
  expect((await read('ann')).status).toBe(200)
})

test('a response that has ended makes room for another one', async () => {
  const { read } = setUp(3)
  for (let count = 0; count < 5; count += 1) expect(await (await read('ann')).text()).toContain('"rows"')
})

test('short responses are never refused', async () => {
  const { read } = setUp(1)
  for (let count = 0; count < 5; count += 1) expect((await read('ann')).status).toBe(200)
})

test('a response that is not read for 10 s makes room for another one', async () => {
  const { read, clock, open } = setUp()
  const [idle, slow] = [await read('ann'), await read('ann')]
  const reader = slow.body?.getReader()
  await clock.advance(9_999)
  await reader?.read()
  await reader?.read()
  expect((await read('ann')).status).toBe(429)
  await clock.advance(1)
  expect((await read('ann')).status).toBe(200)
  expect(open()).toBe(2)
  await expect(idle.text()).rejects.toThrow('nothing for too long')
  expect((await reader?.read())?.done).toBe(false)
})

test('a user begins two reads at once, and the others wait for up to 10 s', async () => {
  const { read, hold, clock, begun } = setUp(1)
  const release = hold()
  const responses = [1, 2, 3].map(() => read('ann'))
  await clock.advance(9_999)
  expect(begun()).toBe(2)
  const late = read('ann')
  await clock.advance(1)
  expect((await responses[2])?.status).toBe(429)
  release()
  expect((await late).status).toBe(200)
  expect((await responses[0])?.status).toBe(200)
})

test('a waiting request whose client disconnects reads nothing from the database', async () => {
  const { service, hold, begun, clock } = setUp(1)
  const handle = nodeHandler(service)
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing)).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const release = hold()
  const headers = Object.fromEntries(requestTo('bootstrap', 'ann').headers)
  const asked = Array.from({ length: 5 }, () =>
    get({ port, path: '/sync/v1/bootstrap', headers, agent: false }),
  )
  for (const request of asked) request.on('error', () => {})
  await expect.poll(begun).toBe(2)
  for (const request of asked) request.destroy()
  await expect.poll(() => connectionsOf(server)).toBe(0)
  release()
  await clock.advance(0)
  expect((await service.fetch(requestTo('bootstrap', 'ann'))).status).toBe(200)
  expect(begun()).toBe(3)
})

/** The number of open connections. */
function connectionsOf(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)))
}
