import * as z from 'zod/mini'
import {
  indexedDbStore,
  type Logger,
  model,
  SyncClient,
  type SyncClientOptions,
  silentLogger,
} from '../../src/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import { snapshotWorker } from '../../src/worker/index.ts'
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

const workerAt = (path: string) => snapshotWorker(() => new Worker(path, { type: 'module' }))

const warningsInto = (warnings: string[]): Logger => ({
  ...silentLogger,
  warn: (message) => warnings.push(message),
})

async function readsInPage(visitor: Visitor, script: string): Promise<void> {
  await command('fill', visitor.name, 2_000)
  const warnings: string[] = []
  const client = visitor.client({ worker: workerAt(script), logger: warningsInto(warnings) })
  await client.sync()
  same(client.count('Issue'), 2_000, 'the rows')
  same(warnings.length, 1, 'the warnings')
}

/** The generations of the stored pages. */
async function writersOf(
  client: Pick<SyncClient, 'endpoints'>,
  identity: string,
): Promise<readonly string[]> {
  const connection = await indexedDbStore().open(
    `instep:${JSON.stringify([client.endpoints.bootstrapUrl, identity])}`,
  )
  const keys = await connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) => tx.keys('pages'))
  connection.close()
  return [...new Set(keys.map((key) => key.slice(0, key.indexOf('/'))))]
}

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

  test('streams a snapshot of 20 000 rows through a worker, which stores it, and restores it', async (visitor) => {
    await command('fill', visitor.name, 20_000)
    const warnings: string[] = []
    const client = visitor.client({ worker: workerAt('/snapshots.js'), logger: warningsInto(warnings) })
    await client.sync()
    same(client.count('Issue'), 20_000, 'the rows')
    same(warnings, [], 'the warnings')
    await client.close()
    // The page itself would have written as the first writer.
    same(await writersOf(client, visitor.name), ['1.2'], 'the writers of the pages')
    const again = visitor.client()
    await again.start()
    same(again.count('Issue', { n: { gte: 19_990 } }), 10, 'what is restored')
    same(again.get('Issue', 'i19999')?.title, 'Issue 19999', 'a record')
  }),

  test('where the script of a worker is not there, the page reads the snapshot, and says so', (visitor) =>
    readsInPage(visitor, '/none.js')),

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

  test('where a policy forbids workers, the page reads the snapshot, and says so', async (visitor) => {
    const policy = document.createElement('meta')
    policy.httpEquiv = 'Content-Security-Policy'
    policy.content = "worker-src 'none'"
    document.head.append(policy)
    await readsInPage(visitor, '/snapshots.js')
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
]
