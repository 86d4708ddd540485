import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SyncClient, SyncClientOptions } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from '../../src/testing/index.ts'
import { shown } from '../support/device.ts'
import { watching } from '../support/watching-store.ts'

/** A browser whose tabs share one session: `session.user` is signed in, in all of them. */
let server: MockSyncServer<VirtualClock>
let store: ReturnType<typeof memoryStore>
let session: { user: 'ada' | 'bob' }
let tokens: { [user: string]: string }
let refusals: string[]

beforeEach(async () => {
  server = mockSyncServer()
  store = memoryStore()
  session = { user: 'ada' }
  tokens = { ada: server.token('ada'), bob: server.token('bob') }
  refusals = []
  await server.write([insert('of ada')], 'ada')
  await server.write([insert('of bob')], 'bob')
})

afterEach(() => server.close())

const insert = (id: string) => ({ op: 'i' as const, t: 'Issue', id, p: {} })

type Options = Partial<SyncClientOptions> & { readonly identity?: string }

function tab(options: Options = {}): SyncClient {
  return server.client({
    identity: 'ada',
    store,
    token: () => tokens[session.user],
    onUnauthenticated: ({ code }) => {
      refusals.push(code)
    },
    ...options,
  })
}

async function openTab(options: Options = {}): Promise<SyncClient> {
  const client = tab(options)
  await client.start()
  await server.clock.advance(2_000)
  return client
}

/** Asks with the present credentials, whatever comes of it. */
async function ask(client: SyncClient): Promise<void> {
  await server.clock.until(client.sync().catch(() => {}))
  await server.clock.advance(2_000)
}

const idsOf = async (user: string) => (await server.rows(user)).map(({ id }) => id).sort()
const sentBy = () =>
  server.requests.filter(({ endpoint }) => endpoint === 'tx').map(({ identity }) => identity)
const otherUser = { state: 'unauthenticated', error: { name: 'UnauthenticatedError', code: 'other_user' } }

/** `inner`, and all that is ever put into it, as text. */
function recording(inner: Store): { readonly store: Store; readonly put: string[] } {
  const put: string[] = []
  const store: Store = {
    ...inner,
    open: async (name) => {
      const connection = await inner.open(name)
      return {
        ...connection,
        transaction: (options, body) =>
          connection.transaction(options, (tx) =>
            body(
              new Proxy(tx, {
                get:
                  (target, name) =>
                  (...given: unknown[]) => {
                    if (name === 'put') put.push(JSON.stringify(given))
                    return Reflect.get(target, name).apply(target, given)
                  },
              }),
            ),
          ),
      }
    },
  }
  return { store, put }
}

const ways: [string, Options][] = [
  ['over a socket', {}],
  ['by polling', { environment: { WebSocket: undefined } }],
  ['over a socket, in memory', { store: undefined }],
]

describe.each(ways)('while another user is signed in, %s,', (_, options) => {
  test('invariant 44: a tab shows and sends nothing, and reports why', async () => {
    const client = await openTab(options)
    session.user = 'bob'
    await server.write([insert('also of bob')], 'bob')
    client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    await server.clock.advance(120_000)
    await ask(client)
    expect(Object.keys(shown(client)).sort()).toEqual(['of ada', 'typed by ada'])
    expect(await idsOf('bob')).toEqual(['also of bob', 'of bob'])
    expect(sentBy()).toEqual([])
    expect(client.status.connection).toMatchObject(otherUser)
    expect(client.status.writes.pending).toBe(1)
    expect(refusals).toEqual(['other_user'])
  })

  test('a tab sends nothing until its user is back; then it continues, and sends its writes once', async () => {
    const client = await openTab(options)
    session.user = 'bob'
    client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    await server.clock.advance(10_000)
    const asked = server.requests.length
    await server.clock.advance(600_000)
    expect(server.requests.length).toBe(asked)
    session.user = 'ada'
    client.resume()
    await server.settle()
    expect(client.status.connection.state).toBe(options.environment ? 'polling' : 'socket')
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
    expect(sentBy()).toEqual(['ada'])
  })
})

describe('with a session that all tabs share', () => {
  test('a write during the session of another user is sent once its own user is back', async () => {
    const client = await openTab()
    session.user = 'bob'
    client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    while (!server.requests.some(({ identity }) => identity === 'bob')) await server.clock.advance(1)
    session.user = 'ada'
    await server.settle()
    expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
  })

  test('each tab keeps its own user, and their data stays separate', async () => {
    const [first, second] = [await openTab(), await openTab()]
    session.user = 'bob'
    const third = await openTab({ identity: 'bob' })
    for (const client of [first, second, third]) client.mutate((m) => m.insert('Issue', {}))
    await server.clock.advance(60_000)
    expect(third.status.connection.state).toBe('socket')
    expect(first.status.connection).toMatchObject(otherUser)
    expect(second.status.connection).toMatchObject(otherUser)
    expect(sentBy()).toEqual(['bob'])
    session.user = 'ada'
    for (const client of [first, second]) client.resume()
    await ask(third)
    expect(third.status.connection).toMatchObject(otherUser)
    expect(await idsOf('ada')).toHaveLength(3)
    expect(await idsOf('bob')).toHaveLength(2)
    expect(shown(first)['of bob'] ?? shown(second)['of bob']).toBeUndefined()
    expect(shown(third)['of ada']).toBeUndefined()
  })

  test('a tab that starts offline and finds another user signed in shows and sends nothing of theirs', async () => {
    const device = server.device()
    const make = () =>
      device.client({ identity: 'ada', store, token: () => tokens[session.user], pollInterval: 1_000 })
    const before = make()
    await before.start()
    await server.settle()
    device.disconnect()
    await server.clock.until(before.mutate((m) => m.insert('Issue', { id: 'typed by ada' })).durable)
    await server.clock.until(before.close())
    session.user = 'bob'
    const client = make()
    await server.clock.until(client.start())
    device.reconnect()
    await server.clock.advance(120_000)
    expect(client.status.connection).toMatchObject(otherUser)
    expect(Object.keys(shown(client)).sort()).toEqual(['of ada', 'typed by ada'])
    expect(sentBy()).toEqual([])
    client.resume(tokens.ada)
    await server.settle()
    expect(sentBy()).toEqual(['ada'])
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
  })

  test('a write that is made before the disk is read is sent, though the first socket is of another user', async () => {
    const before = await openTab()
    await server.clock.until(before.close())
    const opened = server.requests.length
    const slow = watching(store, () => new Promise<void>((resolve) => void server.clock.after(500, resolve)))
    session.user = 'bob'
    const client = tab({ store: slow })
    void client.start()
    await server.clock.advance(400)
    expect(server.requests.slice(opened).map(({ endpoint, identity }) => [endpoint, identity])).toEqual([
      ['ws', 'bob'],
    ])
    session.user = 'ada'
    const tx = client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    await server.settle()
    expect(tx.state).toBe('synced')
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
  })

  test('invariant 44: a snapshot of another user is never shown or stored', async () => {
    const recorded = recording(store)
    const client = await openTab({ store: recorded.store })
    await server.clock.until(client.stop())
    await server.write([insert('also of ada')], 'ada')
    // The answer to a delta names no caller then, so that it is the snapshot that is another user's.
    await server.trim()
    session.user = 'bob'
    await client.start()
    await server.clock.advance(10_000)
    expect(server.requests.at(-1)).toMatchObject({ endpoint: 'bootstrap', identity: 'bob' })
    expect(client.status.connection).toMatchObject(otherUser)
    expect(Object.keys(shown(client))).toEqual(['of ada'])
    expect(recorded.put.filter((text) => text.includes('of ada'))).not.toEqual([])
    expect(recorded.put.filter((text) => text.includes('of bob'))).toEqual([])
  })

  test('invariant 44: pushes on a socket with the token of another user are ignored', async () => {
    const client = await openTab()
    // Only the next request, which is that of the socket, is made while Bob is signed in.
    server.down()
    await server.clock.advance(100)
    server.up()
    const opened = server.requests.length
    session.user = 'bob'
    const asked = () => server.requests.slice(opened)
    while (!asked().some(({ endpoint }) => endpoint === 'ws')) await server.clock.advance(1)
    session.user = 'ada'
    await server.clock.advance(5_000)
    expect(asked().find(({ endpoint }) => endpoint === 'ws')?.identity).toBe('bob')
    await server.write([insert('also of bob')], 'bob')
    await server.clock.advance(5_000)
    expect(Object.keys(shown(client))).toEqual(['of ada'])
    expect(client.status.connection.state).toBe('socket')
    await server.write([insert('also of ada')], 'ada')
    await server.clock.advance(1_000)
    expect(Object.keys(shown(client)).sort()).toEqual(['also of ada', 'of ada'])
  })

  test('invariant 44: results for another user do not count for own transactions', async () => {
    const { fetch } = server.environment
    const answers = [{ sid: 2, caller: 'bob' }]
    const client = await openTab({
      environment: {
        fetch: async (url, init) => {
          const answer = url.endsWith('/tx') ? answers.pop() : undefined
          if (!answer) return fetch(url, init)
          const [{ id }] = JSON.parse(String(init.body)).txs
          return Response.json({ ...answer, results: [{ id, sid: 2 }] })
        },
      },
    })
    const tx = client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    await server.settle()
    expect(refusals).toEqual(['other_user'])
    expect(tx.state).toBe('synced')
    expect(await idsOf('ada')).toEqual(['of ada', 'typed by ada'])
  })

  test('a reset by the server is not another user', async () => {
    const client = await openTab()
    const resets: string[] = []
    client.on('reset', ({ reason }) => resets.push(reason))
    server.changeEpoch()
    await server.settle()
    await server.restore([insert('restored')], 'ada')
    await ask(client)
    await server.settle()
    expect(resets).toEqual(['epoch', 'restored'])
    expect(Object.keys(shown(client))).toEqual(['restored'])
    expect(refusals).toEqual([])
  })

  test('invariant 44: after a reset and a restart, the owner of the data is still known', async () => {
    const client = await openTab()
    server.changeEpoch()
    await server.settle()
    await server.clock.until(client.close())
    session.user = 'bob'
    const next = await openTab()
    expect(next.status.connection).toMatchObject(otherUser)
    expect(Object.keys(shown(next))).toEqual(['of ada'])
  })
})

describe('the handler', () => {
  test('may return a token of the right user', async () => {
    const client = await openTab({ onUnauthenticated: () => tokens.ada })
    session.user = 'bob'
    client.mutate((m) => m.insert('Issue', { id: 'typed by ada' }))
    await server.settle()
    expect(client.status.connection.state).toBe('socket')
    expect(sentBy()).toEqual(['ada'])
  })

  test('invariant 44: the handler is not called again for each token of another user that it returns', async () => {
    let calls = 0
    const client = await openTab({
      onUnauthenticated: () => {
        calls += 1
        return server.token('bob')
      },
    })
    session.user = 'bob'
    client.mutate((m) => m.insert('Issue', {}))
    await server.clock.advance(600_000)
    expect(calls).toBe(1)
    expect(client.status.connection).toMatchObject(otherUser)
    client.resume()
    await server.clock.advance(10_000)
    expect(calls).toBe(2)
  })

  test('is called again when another user signs in once more', async () => {
    const client = await openTab()
    for (const user of ['bob', 'ada', 'bob', 'ada'] as const) {
      session.user = user
      client.resume()
      await ask(client)
    }
    expect(refusals.length).toBeGreaterThanOrEqual(2)
    expect(client.status.connection.state).toBe('socket')
  })
})

describe('the first request with another token', () => {
  test.each<[string, (client: SyncClient) => void]>([
    ['that the function gives', () => {}],
    ['that resume gives', (client) => client.resume(tokens.ada)],
  ])('%s reads, and only then is something sent', async (_, renew) => {
    const client = await openTab()
    tokens.ada = server.token('ada')
    const before = server.requests.length
    renew(client)
    client.mutate((m) => m.insert('Issue', {}))
    await server.settle()
    const asked = server.requests.slice(before).map(({ endpoint }) => endpoint)
    expect(asked[0]).toBe('delta')
    expect(asked.filter((endpoint) => endpoint === 'tx')).toHaveLength(1)
  })

  test('causes no second read while the token stays', async () => {
    const client = await openTab()
    tokens.ada = server.token('ada')
    const reads = () => server.requests.filter(({ query }) => Number(query.since) > 1_000)
    for (let count = 0; count < 3; count += 1) {
      client.mutate((m) => m.insert('Issue', {}))
      await server.settle()
    }
    expect(reads()).toHaveLength(1)
  })

  test('is a read even if each request has its own token', async () => {
    const client = await openTab({ token: () => server.token(session.user) })
    const before = server.requests.length
    client.mutate((m) => m.insert('Issue', {}))
    await server.settle()
    expect(server.requests.slice(before).map(({ endpoint }) => endpoint)).toEqual(['delta', 'tx'])
  })

  test.each([400, 410, 413, 503])('rejects no transaction when it is answered with %i', async (status) => {
    const client = await openTab()
    tokens.ada = server.token('ada')
    server.wrong(status, { endpoint: 'delta', times: 2 })
    const tx = client.mutate((m) => m.insert('Issue', {}))
    await server.clock.advance(60_000)
    expect(tx.state).toBe('synced')
  })
})

describe('a service that names no caller', () => {
  /** A client of the service without the extension, which polls. */
  const without = (): Options => {
    const { fetch } = server.environment
    return {
      environment: {
        WebSocket: undefined,
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          if (!response.ok) return response
          const { caller: _, ...rest } = await response.json()
          return Response.json(rest)
        },
      },
    }
  }

  test('syncs as before, without an extra request', async () => {
    const client = await openTab(without())
    tokens.ada = server.token('ada')
    const tx = client.mutate((m) => m.insert('Issue', {}))
    await server.settle()
    expect(tx.state).toBe('synced')
    expect(server.requests.map(({ endpoint }) => endpoint).slice(0, 3)).toEqual(['bootstrap', 'tx', 'delta'])
    expect(refusals).toEqual([])
  })

  test('leads to a copy that keeps the first caller it hears of', async () => {
    const before = await openTab(without())
    await server.clock.until(before.close())
    const client = await openTab()
    expect(client.status.connection.state).toBe('socket')
    await server.clock.until(client.close())
    session.user = 'bob'
    const next = await openTab()
    expect(next.status.connection).toMatchObject(otherUser)
    expect(Object.keys(shown(next))).toEqual(['of ada'])
  })
})
