import * as z from 'zod/mini'
import { indexedDbStore, model, SyncClient, type SyncClientOptions } from '../../src/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import { command, type PageCase } from './in-page.ts'

const models = { Issue: model(z.object({ n: z.number(), title: z.string() }), { indexes: ['n'] }) }

/** A user of one case alone, with clients that are closed in the end. */
class Visitor {
  readonly name = crypto.randomUUID()
  token = ''
  readonly #clients: SyncClient<typeof models>[] = []

  async signIn(): Promise<void> {
    this.token = String(await command('issue', this.name))
  }

  client(options: Partial<SyncClientOptions<typeof models>> = {}): SyncClient<typeof models> {
    const client = new SyncClient({
      baseUrl: '/sync/v1',
      token: () => this.token,
      identity: this.name,
      store: indexedDbStore(),
      models,
      pollInterval: 500,
      ...options,
    })
    this.#clients.push(client)
    return client
  }

  async live(options?: Partial<SyncClientOptions<typeof models>>): Promise<SyncClient<typeof models>> {
    const client = this.client(options)
    await client.start()
    await until(() => client.status.connection.state === 'socket', 'the socket')
    return client
  }

  write(id: string, n: number): Promise<unknown> {
    return command('write', this.name, [{ op: 'i', t: 'Issue', id, p: { n, title: id } }])
  }

  async leave(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map((client) => client.close()))
  }
}

/** Waits for what nobody can tell the moment of. */
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 15_000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Waited in vain for ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function test(name: string, run: (visitor: Visitor) => Promise<void>): PageCase {
  return {
    name,
    async run() {
      const visitor = new Visitor()
      await visitor.signIn()
      try {
        await run(visitor)
      } finally {
        await visitor.leave()
      }
    },
  }
}

const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id).join()

/** A whole client in a real engine, before a server that knows nothing but the interface. */
export const clientCases: readonly PageCase[] = [
  test('shows what there is, in order, and what is pushed', async (visitor) => {
    await visitor.write('b', 2)
    const client = await visitor.live()
    const query = client.query('Issue', { orderBy: ['n'] })
    query.subscribe(() => {})
    await visitor.write('a', 1)
    await until(() => query.rows.length === 2, 'the push')
    same(ids(query.rows), 'a,b', 'the rows')
  }),

  test('works with `fetch` of the window as it is', async (visitor) => {
    await visitor.write('a', 1)
    const client = await visitor.live({ environment: { fetch: window.fetch } })
    same(client.count('Issue'), 1, 'the rows')
  }),

  test('restores from disk without the network, and catches up when it is back', async (visitor) => {
    await visitor.write('a', 1)
    const before = await visitor.live()
    await until(() => before.count('Issue') === 1, 'the row')
    await before.close()
    await command('down')
    try {
      await visitor.write('b', 2)
      const client = visitor.client()
      await client.start()
      same(ids(client.all('Issue')), 'a', 'what is restored')
      same(client.status.data.state, 'stale', 'the data')
      await until(() => client.status.connection.state === 'offline', 'being offline')
      await command('up')
      await until(() => client.count('Issue') === 2, 'catching up')
      await until(() => client.status.connection.state === 'socket', 'the socket')
    } finally {
      await command('up')
    }
  }),

  test('goes on with a new token after a 401', async (visitor) => {
    const client = await visitor.live({
      onUnauthenticated: async () => {
        await visitor.signIn()
        return visitor.token
      },
    })
    await command('expire', visitor.token)
    await visitor.write('a', 1)
    await command('cut')
    await until(() => client.count('Issue') === 1, 'the row')
    await until(() => client.status.connection.state === 'socket', 'the socket')
  }),

  test('streams a snapshot of 20 000 rows onto the disk, and restores it', async (visitor) => {
    await command('fill', visitor.name, 20_000)
    const client = visitor.client()
    const progress: number[] = []
    client.on('status', ({ data }) => {
      if (data.state === 'loading') progress.push(data.progress.rows)
    })
    await client.sync()
    same(client.count('Issue'), 20_000, 'the rows')
    same(progress.length > 2 && progress.every((rows, n) => rows >= (progress[n - 1] ?? 0)), true, 'progress')
    await client.close()
    const again = visitor.client()
    await again.start()
    same(again.count('Issue', { n: { gte: 19_990 } }), 10, 'what is restored')
    same(again.get('Issue', 'i19999')?.title, 'Issue 19999', 'a record')
  }),

  test('invariant 43: keeps two identities apart, and one over a new token', async (visitor) => {
    const other = new Visitor()
    await other.signIn()
    await visitor.write('a', 1)
    await other.write('b', 2)
    const [one, two] = await Promise.all([visitor.live(), other.live()])
    await until(() => one.count('Issue') + two.count('Issue') === 2, 'the rows')
    await Promise.all([visitor.leave(), other.leave()])
    await Promise.all([visitor.signIn(), other.signIn()])
    const [first, second] = [visitor.client(), other.client()]
    await Promise.all([first.start(), second.start()])
    same([ids(first.all('Issue')), ids(second.all('Issue'))], ['a', 'b'], 'what is restored')
    await other.leave()
  }),

  test('where there is no IndexedDB, it works in memory and says so', async (visitor) => {
    await visitor.write('a', 1)
    const indexedDB = new Proxy(globalThis.indexedDB, {
      get() {
        throw new DOMException('The user denied it.', 'SecurityError')
      },
    })
    const client = await visitor.live({ store: indexedDbStore({ indexedDB }) })
    await until(() => client.count('Issue') === 1, 'the row')
    same(client.status.storage.kind, 'memory', 'the storage')
    same(client.status.storage.reason === undefined, false, 'whether a reason is given')
  }),

  test('says how many unsynced writes were in a database that is gone, and how much room there is', async (visitor) => {
    // The server takes no writes.
    const client = await visitor.live()
    const name = `instep:${JSON.stringify([client.endpoints.bootstrapUrl, visitor.name])}`
    await client.mutate((m) => m.insert('Issue', { id: 'mine', n: 1, title: 'Mine' })).durable
    await visitor.leave()
    await indexedDbStore().destroy(name)
    const again = await visitor.live()
    await until(() => again.status.storage.lost === 1, 'the number of lost writes')
    if (!navigator.storage?.estimate) return
    await until(() => (again.status.storage.quota ?? 0) > 0, 'the quota')
    // Firefox would ask the user to let it keep the data.
    same(again.status.storage.persisted, false, 'whether the browser keeps the data')
  }),
]
