import type { Logger } from '../../src/base/logger.ts'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import {
  type Authenticate,
  bearerToken,
  type Caller,
  createSyncService,
  MemoryLog,
  type ServerSocket,
} from '../../src/server/index.ts'
import { seededRandom, VirtualClock } from '../support/virtual.ts'

/** Whoever these tokens name; `late` has expired, `lonely` belongs to no organization. */
const callers: { readonly [token: string]: Caller | 'expired' } = {
  'token-of-ann': { userId: 'ann', organizationId: 'acme' },
  'token-of-bob': { userId: 'bob', organizationId: 'acme' },
  'token-of-cid': { userId: 'cid', organizationId: 'zeta' },
  'token-of-lonely': { userId: 'lonely' },
  'token-of-late': 'expired',
}

export const authenticate: Authenticate = async (request) => {
  const caller = callers[bearerToken(request) ?? '']
  return caller === 'expired' ? { refused: 'token_expired' } : (caller ?? null)
}

export interface Answer {
  readonly sid: number
  readonly epoch: string
  readonly caller: string
  readonly count: number
  readonly rows: readonly WireRow[]
  readonly frames: readonly SyncFrame[]
  readonly error: { readonly code: string; readonly message: string }
}

/** A service in virtual time, its log, and ways to ask it as `ann` or somebody else. */
export function serviceOf(options: Partial<Parameters<typeof createSyncService>[0]> = {}) {
  const clock = new VirtualClock()
  const random = seededRandom(1)
  const log = new MemoryLog({ clock, random })
  const { logger, lines } = recorder()
  const service = createSyncService({
    database: log,
    authenticate,
    ownerField: 'userId',
    clock,
    random,
    logger,
    ...options,
  })

  const ask = (path: string, { user = 'ann', ...init }: RequestInit & { user?: string } = {}) =>
    service.fetch(requestTo(path, user, init))
  const json = async (path: string, init?: Parameters<typeof ask>[1]): Promise<Answer> =>
    (await ask(path, init)).json()
  const connect = async (user = 'ann') => {
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', user))
    await clock.advance(0)
    return socket
  }
  return { service, log, clock, random, lines, ask, json, connect }
}

export function requestTo(path: string, user: string, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers)
  if (user !== '') headers.set('Authorization', `Bearer token-of-${user}`)
  return new Request(`https://sync.test/sync/v1/${path}`, { ...init, headers })
}

export function insert(id: string, fields: object = {}, userId = 'ann'): TxOp & { readonly op: 'i' } {
  return { op: 'i', t: 'Todo', id, p: { userId, ...fields } }
}

export function update(id: string, fields: object): TxOp & { readonly op: 'u' } {
  return { op: 'u', t: 'Todo', id, p: { ...fields } }
}

export function remove(id: string): TxOp & { readonly op: 'd' } {
  return { op: 'd', t: 'Todo', id }
}

/** A logger that keeps as text what is more than that a request was answered. */
export function recorder(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = []
  const write = (message: string, details?: object) => {
    lines.push(`${message} ${JSON.stringify(details)}`)
  }
  return { logger: { debug: write, info: () => {}, warn: write, error: write }, lines }
}

/** A socket that keeps what is sent on it. What is sent counts as buffered while it is `stuck`. */
export class FakeSocket implements ServerSocket {
  bufferedAmount = 0
  stuck = false
  readonly texts: string[] = []
  closed: readonly [code: number | undefined, reason: string | undefined] | undefined
  readonly #listeners: (() => void)[] = []

  send(data: string): void {
    if (this.stuck) this.bufferedAmount += Buffer.byteLength(data)
    this.texts.push(data)
  }

  close(code?: number, reason?: string): void {
    this.closed ??= [code, reason]
    if (!this.stuck) this.gone()
  }

  addEventListener(_type: 'close', listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** The other side went away. */
  gone(): void {
    for (const listener of this.#listeners) listener()
  }

  get messages() {
    return this.texts.map((text) => JSON.parse(text))
  }

  get hello() {
    return this.messages[0].hello
  }

  /** The pushes and heartbeats behind the hello. */
  get pushes(): readonly { readonly since: number; readonly sid: number; readonly frames: SyncFrame[] }[] {
    return this.messages.slice(1)
  }
}
