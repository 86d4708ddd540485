import { indexedDbStore, SyncClient } from 'instep'
import { models } from '../models.ts'
import type { Contender } from './contender.ts'

/** What the next delta brings; without one, the server is asked for a snapshot, and has no news beside it. */
let next: Uint8Array<ArrayBuffer> | undefined

let socket: Socket | undefined

/** A socket on which the page itself plays the server. */
class Socket {
  readonly readyState = 1
  onopen: ((event: unknown) => void) | null = null
  onmessage: ((event: { readonly data: unknown }) => void) | null = null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null = null
  onerror: ((event: unknown) => void) | null = null

  constructor() {
    socket = this
    setTimeout(() => this.onopen?.({}))
  }

  send() {}

  close() {}
}

function open(url: string) {
  return new SyncClient({
    baseUrl: url,
    token: 'bench',
    identity: 'bench',
    store: indexedDbStore(),
    models,
    environment: {
      fetch: (input, init) => {
        if (input.endsWith('/bootstrap')) return fetch(input, init)
        const sid = new URL(input).searchParams.get('since')
        const bytes = next ?? new TextEncoder().encode(`{"sid":${sid},"frames":[]}`)
        next = undefined
        // As from a network; a Response that is made of a text copies it several times.
        const body = new ReadableStream({
          start(controller) {
            controller.enqueue(bytes)
            controller.close()
          },
        })
        return Promise.resolve(new Response(body))
      },
      WebSocket: Socket,
    },
  })
}

let client: ReturnType<typeof open>

export const contender: Contender = {
  async firstSync(url) {
    client = open(url)
    await client.sync()
  },
  async startUp(url) {
    client = open(url)
    await client.start()
    // It has begun to fetch, which is no part of this.
    void client.stop()
    const types = ['Issue', 'Comment', 'Project', 'User', 'Label'] as const
    return types.reduce((sum, t) => sum + client.count(t), 0)
  },
  async delta(_, bytes) {
    next = bytes
    await client.sync()
  },
  push(text) {
    socket?.onmessage?.({ data: text })
  },
  async watch(told, applied) {
    await client.start()
    await new Promise<void>((resolve) => {
      const undo = client.on('status', ({ connection }) => {
        if (connection.state !== 'socket') return
        undo()
        resolve()
      })
    })
    // Is asked about what has changed once that is in the tables, before the other is told.
    const filter = () => {
      applied()
      return false
    }
    client.query('Issue', { filter }).subscribe(() => {})
    client
      .query('Issue', { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 })
      .subscribe(told)
  },
}
