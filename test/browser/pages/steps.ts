import {
  indexedDbStore,
  type LogoutOptions,
  listDatabases,
  type Payload,
  SyncClient,
  type Transaction,
} from '../../../src/index.ts'
import { command, tell, tellFailures } from '../in-page.ts'

const params = new URLSearchParams(location.search)
const tab = params.get('tab')
let sockets = 0
/** Counts the sockets that are open or opening. */
class CountedSocket extends WebSocket {
  constructor(url: string, protocols?: string[]) {
    super(url, protocols)
    sockets += 1
    this.addEventListener('close', () => {
      sockets -= 1
    })
  }
}

const client = new SyncClient({
  environment: { WebSocket: CountedSocket },
  baseUrl: params.get('service') ?? '',
  token: 'ada',
  identity: 'ada',
  store: indexedDbStore(),
  pollInterval: 500,
})
const shown: unknown[] = []
let written: Transaction | undefined

const number = () => client.get('Note', 'note')?.n
client.on('change', () => {
  if (shown.at(-1) !== number()) shown.push(number())
})

/** Waits for a state of the client. */
function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!condition()) return
      for (const stop of stops) stop()
      resolve()
    }
    const stops = [client.on('status', look), client.on('change', look)]
    look()
  })
}

function retryTime(): number | undefined {
  const { connection } = client.status
  return connection.state === 'offline' ? connection.retryAt : undefined
}

/** The steps that a test can run in this tab. Writes resolve when they are durable. */
const steps = {
  async start() {
    await client.start()
    await until(() => client.status.connection.state === 'socket')
  },
  /** Resolves with the stored number of the note. */
  async startOffline() {
    await client.start()
    return number()
  },
  async sync() {
    await client.sync()
  },
  isOnline: () => navigator.onLine,
  /** Resolves when the client knows that it is offline. */
  offline: () => until(() => client.status.connection.state === 'offline'),
  /** Resolves when the client has tried again to reach the service. */
  async retry() {
    const before = retryTime()
    await until(() => retryTime() !== before)
  },
  update(id: string, fields: Payload) {
    written = client.mutate((m) => m.update('Note', id, fields))
    return written.durable
  },
  /** As `update`, but waits for nothing. */
  begin(id: string, fields: Payload) {
    written = client.mutate((m) => m.update('Note', id, fields))
  },
  addOne() {
    written = client.mutate((m) => m.update('Note', 'note', { n: Number(m.get('Note', 'note')?.n) + 1 }))
    return written.durable
  },
  delete(id: string) {
    written = client.mutate((m) => m.delete('Note', id))
    return written.durable
  },
  /** Undoes the last write after this long, in ms, and resolves with its state. */
  async undo(after: number) {
    await new Promise((resolve) => setTimeout(resolve, after))
    await written?.undo()
    return written?.state
  },
  async synced() {
    await written?.synced
  },
  shows: (n: number) => until(() => number() === n),
  /** All numbers that this tab has shown of the note, in order. */
  shown: () => shown,
  /** Waits until nothing is left to send, and resolves with the reasons of the rejected writes. */
  async settle() {
    await until(() => client.status.connection.state === 'socket' && client.status.writes.pending === 0)
    return client.outbox.list({ state: 'rejected' }).map(({ rejection }) => rejection?.reason)
  },
  logout: (options: LogoutOptions) => client.logout(options),
  /** Resolves when the user has signed out, with the records that are shown then. */
  async signedOut() {
    await until(() => client.status.lifecycle === 'signed-out')
    return client.all('Note').length
  },
  /** The number of databases of this service. */
  async databases() {
    const service = params.get('service') ?? ''
    return (await listDatabases()).filter(({ bootstrapUrl }) => bootstrapUrl.startsWith(service)).length
  },
  /** Deletes the databases of this service as a page without a client can. */
  async deleteDatabases() {
    const names = (await indexedDB.databases()).flatMap(({ name }) => name ?? [])
    for (const name of names.filter((each) => each.includes(params.get('service') ?? ''))) {
      await new Promise((resolve, reject) => {
        const deleting = indexedDB.deleteDatabase(name)
        deleting.onsuccess = resolve
        deleting.onerror = reject
      })
    }
    return names.length
  },
  lifecycle: () => client.status.lifecycle,
  storage: () => client.status.storage,
  /** Goes to another page, and resolves with whether the browser has kept this one until it is shown again. */
  leave: () =>
    new Promise<boolean>((resolve) => {
      addEventListener('pageshow', ({ persisted }) => resolve(persisted), { once: true })
      location.href = `/away?${new URLSearchParams({ tab: String(tab) })}`
    }),
  role: () => client.status.role,
  sockets: () => sockets,
  /** Resolves when the client stores the data for all tabs. */
  leads: () => until(() => client.status.role === 'leader'),
  close: () => client.close(),
}

export type Steps = typeof steps

interface Step {
  readonly name: keyof Steps
  readonly value: readonly never[]
}

async function runSteps(): Promise<void> {
  for (let isOpen = true; isOpen; ) {
    const { name, value } = (await command('next', tab)) as Step
    const step: (...args: readonly never[]) => unknown = steps[name]
    await tell({ type: `${tab}`, value: await step(...value) })
    isOpen = name !== 'close'
  }
  location.replace('about:blank')
}

tellFailures()
// A page that is still loading is not kept when it is left, and what a module awaits is part of that.
addEventListener('load', () => void setTimeout(runSteps))
