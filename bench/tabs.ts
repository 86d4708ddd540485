import { indexedDbStore, SyncClient } from 'instep'
import { models } from './models.ts'

let sockets = 0
let requests = 0

const now = () => performance.timeOrigin + performance.now()

/** When the tab came to the front, began to lead, and was shown each number of the record `probe`: ms since 1970. */
const times: { front: number; led: number; readonly told: { [n: number]: number } } = {
  front: 0,
  led: 0,
  told: {},
}

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') times.front = now()
})

const client = new SyncClient({
  baseUrl: new URLSearchParams(location.search).get('service') ?? '',
  token: 'bench',
  identity: 'bench',
  store: indexedDbStore(),
  models,
  environment: {
    fetch: (input, init) => {
      requests += 1
      return fetch(input, init)
    },
    WebSocket: class extends WebSocket {
      constructor(url: string, protocols?: string | string[]) {
        super(url, protocols)
        sockets += 1
      }
    },
  },
})

let isLeader = false
client.on('status', ({ role }) => {
  if (role === 'leader' && !isLeader) times.led = now()
  isLeader = role === 'leader'
})

/** What `tabs.mjs` calls. */
const tab = {
  /** How long it takes until the data can be read, in ms. */
  async startUp(): Promise<number> {
    const began = performance.now()
    await client.start()
    const ms = performance.now() - began
    client.query('Issue', { where: { id: 'probe' } }).subscribe(({ rows }) => {
      const n = rows[0]?.points
      if (n !== undefined) times.told[n] ??= now()
    })
    return ms
  },
  ready: () => client.ready().then(() => true),
  state: () => ({
    role: client.status.role,
    sockets,
    requests,
  }),
  times: () => times,
  /** Counts from here on, also the tasks of a trace. */
  clear(): void {
    sockets = 0
    requests = 0
    performance.mark('begin')
  },
}

Object.assign(globalThis, { tab })
