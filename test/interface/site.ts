import { once } from 'node:events'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { TxResponse } from '../../src/protocol/tx.ts'
import {
  createSyncService,
  jwtAuthentication,
  pinoLogger,
  type ServeOptions,
  type SyncService,
  type SyncServiceOptions,
  serve,
  signToken,
} from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import type { Answer } from '../server/harness.ts'

export const secret = 'a secret that is long enough to sign with'

const organizations: { readonly [user: string]: string } = { ann: 'acme', bob: 'acme', cid: 'zeta' }

const tokens = new Map<string, Promise<string>>()

/** A token for `user`, who belongs to the same organization each time. */
export function tokenOf(user: string, lifetimeMs = 3_600_000): Promise<string> {
  const key = JSON.stringify([user, lifetimeMs])
  const organizationId = organizations[user]
  const token =
    tokens.get(key) ??
    signToken({ secret, userId: user, lifetimeMs, ...(organizationId && { organizationId }) })
  tokens.set(key, token)
  return token
}

type Asking = RequestInit & { readonly user?: string }

/** A service that is served on a port of this machine, and ways to ask it as `ann` or somebody else. */
export interface Site {
  readonly service: SyncService
  readonly log: Log
  /** The base address of its endpoints. */
  readonly url: string
  readonly port: number
  /** What was logged, by pino, each line as text. */
  readonly lines: readonly string[]
  /** Asks over HTTP; as nobody, where the user is empty. */
  ask(path: string, init?: Asking): Promise<Response>
  json(path: string, init?: Asking): Promise<Answer>
  /** Sends one transaction of `ops` under a new id. */
  send(ops: readonly object[], user?: string): Promise<TxResponse['results'][number]>
  /** The status of the answer to a request for a socket, and the socket where it opens. */
  connect(headers?: Record<string, string>, query?: string): Promise<Connected>
  /** An open socket of `user`. */
  listen(user?: string): Promise<Listening>
}

export interface Connected {
  readonly status: number
  readonly body: string
  readonly listening: Listening | undefined
}

export interface Push {
  readonly since: number
  readonly sid: number
  readonly frames: readonly SyncFrame[]
}

export interface Listening {
  readonly socket: WebSocket
  readonly hello: {
    readonly sid: number
    readonly epoch: string
    readonly caller: string
    readonly heartbeatMs: number
  }
  /** What came after the hello. */
  readonly pushes: readonly Push[]
  /** All that came, as text. */
  readonly texts: readonly string[]
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

/** Serves a service on `log` until the test has ended, which closes the log. */
export async function serveOn(
  log: Log,
  options: Partial<SyncServiceOptions> = {},
  serving: Partial<ServeOptions> = {},
): Promise<Site> {
  const lines: string[] = []
  const logger = pinoLogger(pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }))
  const service = createSyncService({
    database: log,
    authenticate: jwtAuthentication({ secret }),
    ownerField: 'userId',
    logger,
    ...options,
  })
  const served = await serve(service, { port: 0, graceMs: 100, logger, ...serving })
  const sockets: WebSocket[] = []
  onTestFinished(async () => {
    for (const socket of sockets) socket.terminate()
    await served.close()
    await service.close()
  })

  const ask: Site['ask'] = async (path, { user = 'ann', ...init } = {}) => {
    const headers = new Headers(init.headers)
    if (user !== '') headers.set('Authorization', `Bearer ${await tokenOf(user)}`)
    return fetch(`${served.url}/${path}`, { ...init, headers })
  }
  const connect: Site['connect'] = async (headers = {}, query = '') => {
    const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ws${query}`, { headers })
    sockets.push(socket)
    return connected(socket)
  }
  return {
    service,
    log,
    url: served.url,
    port: Number(new URL(served.url).port),
    lines,
    ask,
    json: async (path, init) => (await ask(path, init)).json(),
    async send(ops, user) {
      const body = JSON.stringify({ txs: [{ id: crypto.randomUUID(), since: 0, ops }] })
      const response = await ask('tx', { method: 'POST', body, ...(user && { user }) })
      const { results }: TxResponse = await response.json()
      if (!results?.[0]) throw new Error(`The answer to a transaction was a ${response.status}.`)
      return results[0]
    },
    connect,
    async listen(user = 'ann') {
      const { listening, status } = await connect({ authorization: `Bearer ${await tokenOf(user)}` })
      if (!listening) throw new Error(`The answer to a request for a socket was a ${status}.`)
      return listening
    },
  }
}

async function connected(socket: WebSocket): Promise<Connected> {
  const texts: string[] = []
  const pushes: Push[] = []
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }))
  })
  socket.on('error', () => {})
  const hello = new Promise<Listening['hello']>((resolve) => {
    socket.on('message', (data) => {
      texts.push(String(data))
      const message = JSON.parse(String(data))
      if (message.hello) resolve(message.hello)
      else pushes.push(message)
    })
  })
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    let body = ''
    for await (const chunk of response) body += chunk
    return { status: Number(response.statusCode), body, listening: undefined }
  })
  const opened = hello.then((said) => ({
    status: 101,
    body: '',
    listening: { socket, hello: said, pushes, texts, closed },
  }))
  const ended = closed.then(({ code, reason }) => ({ status: code, body: reason, listening: undefined }))
  return Promise.race([opened, refused.catch(() => ended), ended])
}
