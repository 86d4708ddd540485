import { memoryStore, type Store, type SyncClient } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { describe, expect, test } from 'vitest'
import { VirtualChannels } from '../../src/testing/virtual-channels.ts'
import { VirtualLifecycle } from '../../src/testing/virtual-environment.ts'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { ClosableStore } from '../support/closable-store.ts'
import { perOrigin } from '../support/per-origin.ts'
import { browser, idsIn } from './browser.ts'

test('invariant 73: a follower that takes the lead knows whose data it is', async () => {
  const { server, device, open, front } = await browser()
  const tokens = { ada: server.token('ada'), bob: server.token('bob') }
  let user: 'ada' | 'bob' = 'ada'
  const token = () => tokens[user]
  await server.write([{ op: 'i', t: 'Item', id: 'b0', p: {} }], 'bob')
  device.disconnect()
  // Opened before there was any data: only the leader hears whose it is.
  const [first] = [await open({ token }), await open({ token })]
  device.reconnect()
  await server.settle()
  user = 'bob'
  first.client.mutate((m) => m.insert('Item', { id: 'a1' }))
  await front(first)
  await server.clock.advance(60_000)
  expect(idsIn(first)).toEqual(['a1', 'i0'])
  expect(first.client.status.connection).toMatchObject({
    state: 'unauthenticated',
    error: { code: 'other_user' },
  })
  expect((await server.rows('bob')).map(({ id }) => id)).toEqual(['b0'])
  await server.close()
})

test('invariant 73: what a follower stores in an emptied database is not sent for the next user', async () => {
  const disk = new ClosableStore()
  const { server, device, open, close } = await browser({
    store: { ...disk.store, kind: 'durable', shared: perOrigin },
  })
  const tokens = { ada: server.token('ada'), bob: server.token('bob') }
  let user: 'ada' | 'bob' = 'ada'
  const token = () => tokens[user]
  device.disconnect()
  // Opened before there was any data: only the leader hears whose it is.
  const [leader, follower] = [await open({ token }), await open({ token, visible: false })]
  device.reconnect()
  await server.clock.advance(10_000)
  device.disconnect()
  await server.clock.until(follower.client.mutate((m) => m.insert('Item', { id: 'a1' })).durable)
  leader.kill()
  disk.close('nothing')
  await server.clock.advance(10_000)
  await close(follower)
  device.reconnect()
  user = 'bob'
  await open({ token })
  await server.clock.advance(60_000)
  expect((await server.rows('bob')).map(({ id }) => id)).toEqual([])
  await server.close()
})

type User = 'ada' | 'bob'
const users: readonly User[] = ['ada', 'bob']

/** Numbers that only `seed` decides (mulberry32). */
function numbersOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

interface Page {
  client: SyncClient
  user: User
  readonly lifecycle: VirtualLifecycle
  readonly crash: () => void
}

/** `inner`, and all that is ever put into it, by the name of the database. */
function recording(inner: Store): { readonly store: Store; readonly put: Map<string, string[]> } {
  const put = new Map<string, string[]>()
  return {
    put,
    store: {
      ...inner,
      shared: perOrigin,
      kind: 'durable',
      open: async (name) => {
        const connection = await inner.open(name)
        const texts = put.get(name) ?? []
        put.set(name, texts)
        return {
          ...connection,
          transaction: (options, body) =>
            connection.transaction(options, (tx) => {
              const note = (value: unknown) => texts.push(JSON.stringify(value))
              return body({
                ...tx,
                get: (...given) => tx.get(...given),
                keys: (...given) => tx.keys(...given),
                values: (...given) => tx.values(...given),
                delete: (...given) => tx.delete(...given),
                put: (...given) => {
                  note(given)
                  tx.put(...given)
                },
              })
            }),
        }
      },
    },
  }
}

/**
 * Two users share one session in three tabs: whoever signs in there is the user of every request from then on. Even seeds
 * tell whose a token is. Odd ones leave that to the service, whose first answer a new client then has to hear.
 */
async function run(seed: number): Promise<void> {
  const below = numbersOf(seed)
  const server = mockSyncServer({ seed })
  const device = server.device()
  const { store, put } = recording(memoryStore())
  const [locks, channels] = [new VirtualLocks(), new VirtualChannels()]
  const tokens = { ada: server.token('ada'), bob: server.token('bob') }
  let session: User = 'ada'
  let count = 0
  const identityOf = (token: string) => (token === tokens.ada ? 'ada' : 'bob')
  const isTold = seed % 2 === 0
  for (const user of users) await server.write([{ op: 'i', t: 'Item', id: `${user}-first`, p: {} }], user)

  const page = async (): Promise<Page> => {
    const lifecycle = new VirtualLifecycle()
    lifecycle.set({ visible: false })
    const [ownLocks, channel] = [locks.page(), channels.page()]
    const user = session
    const client = device.client({
      identity: user,
      store,
      token: () => tokens[session],
      ...(isTold && { identityOf }),
      environment: { lifecycle, locks: ownLocks, BroadcastChannel: channel },
    })
    void client.start()
    if (!isTold) {
      device.reconnect()
      await server.clock.until(client.sync())
    }
    const crash = () => {
      channel.crash()
      ownLocks.crash()
    }
    return { client, user, lifecycle, crash }
  }
  const first = await page()
  const pages = [first, await page(), await page()]
  const any = () => pages[below(pages.length)] ?? first
  const write = ({ client, user }: Page) => {
    if (client.status.lifecycle !== 'running') return
    count += 1
    client.mutate((m) => m.put('Item', { id: `${user}-${count}` }))
  }
  /** The tab signs its user out, or is reloaded, and is then the tab of who is signed in. */
  const replace = async (old: Page) => {
    const pending = ([undefined, 'flush', 'keep', 'discard'] as const)[below(4)]
    const leaving = below(2)
      ? old.client.logout({ pending, timeoutMs: 500 }).catch(() => old.client.close())
      : old.client.close()
    if (below(2)) write(old)
    await server.clock.until(leaving)
    old.crash()
    pages[pages.indexOf(old)] = await page()
  }
  const steps: readonly (() => unknown)[] = [
    () => write(any()),
    () => write(any()),
    () => {
      session = session === 'ada' ? 'bob' : 'ada'
    },
    () => {
      const { client } = any()
      if (client.status.lifecycle === 'running') client.resume()
    },
    () => {
      const front = any()
      for (const { lifecycle } of pages) lifecycle.set({ visible: false })
      front.lifecycle.set({ visible: true })
    },
    () => (device.network.state === 'up' ? device.disconnect() : device.reconnect()),
    () => replace(any()),
    () => {
      count += 1
      return server.write([{ op: 'i', t: 'Item', id: `${session}-server-${count}`, p: {} }], session)
    },
  ]
  for (let n = 0; n < 40; n += 1) {
    await steps[below(steps.length)]?.()
    await server.clock.advance(below(3) === 0 ? below(3_000) : below(60))
    for (const { client, user } of pages) {
      const foreign = client.all('Item').filter(({ id }) => !id.startsWith(user))
      if (foreign.length > 0) throw new Error(`seed ${seed}: the tab of ${user} shows ${foreign[0]?.id}`)
    }
  }
  device.reconnect()
  for (const user of users) {
    session = user
    for (const { client } of pages) if (client.status.lifecycle === 'running') client.resume()
    await server.clock.advance(10_000)
    const rows = (await server.rows(user)).filter(({ id }) => !id.startsWith(user))
    expect(rows, `seed ${seed}: written in the name of ${user}`).toEqual([])
  }
  for (const [name, texts] of put) {
    const other = name.includes('ada') ? '"bob-' : '"ada-'
    const foreign = texts.filter((text) => text.replaceAll('\\', '').includes(other))
    expect(foreign, `seed ${seed}: in ${name}`).toEqual([])
  }
  await server.close()
}

describe('two users with one session in three tabs, who switch at random with writes in flight', () => {
  const { SEED, RUNS = SEED === undefined ? '8' : '1' } = process.env
  const from = Number(SEED ?? 1)
  test.each(Array.from({ length: Number(RUNS) }, (_, n) => from + n))(
    'no row of one in the database or the tab of the other, and no write in the name of the other (seed %s)',
    (seed) => run(seed),
    60_000,
  )
})
