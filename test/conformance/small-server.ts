import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as textOfStream } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { type WebSocket, WebSocketServer } from 'ws'

export type Fields = { readonly [field: string]: unknown }

export interface Row {
  readonly t: string
  readonly id: string
  readonly p: Fields
}

export interface Frame {
  readonly sid: number
  readonly t: string
  readonly id: string
  readonly op: 'i' | 'u' | 'd'
  readonly p?: Fields
  readonly tx?: string
}

/** A change, and whose it is. */
export interface Entry {
  readonly owner: string
  readonly frame: Frame
}

export interface Op {
  readonly op: 'i' | 'u' | 'd'
  readonly t: string
  readonly id: string
  readonly p?: Fields
  readonly put?: boolean
  readonly unchangedSince?: number
  readonly was?: Fields | null
  readonly unset?: readonly string[]
  readonly whole?: boolean
}

export interface Tx {
  readonly id: string
  readonly since: number
  readonly ops: readonly Op[]
  readonly bases?: readonly string[]
  readonly requires?: readonly string[]
}

export type Verdict =
  | { readonly sid: number }
  | { readonly error: { readonly code: string; readonly details?: unknown } }

export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export const tokens: Readonly<Record<string, string>> = { 'token-of-ada': 'ada', 'token-of-ben': 'ben' }

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/**
 * A server that keeps to docs/protocol.md, with the extensions. Written for the tests, and independent of the service. A
 * wrong server is one of these with another method in the place of one of its own.
 */
export class SmallServer {
  readonly epoch = `history-${Math.random()}`
  readonly rows = new Map<string, Row>()
  log: Entry[] = []
  sid = 0
  horizon = 0
  readonly verdicts = new Map<string, { readonly body: string; readonly verdict: Verdict }>()
  readonly sockets = new Map<WebSocket, { readonly user: string; since: number }>()
  heartbeatMs = 400
  features: readonly string[] = ['was', 'tx']
  #queue: Promise<unknown> = Promise.resolve()

  // Credentials

  tokenOf({ headers }: IncomingMessage, _query: URLSearchParams): string | undefined {
    return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
  }

  socketTokenOf(request: IncomingMessage, query: URLSearchParams): string | undefined {
    return this.tokenOf(request, query) ?? query.get('token') ?? undefined
  }

  userOf(token: string | undefined, _path: string): string | undefined {
    return token === undefined ? undefined : tokens[token]
  }

  refusal(_token: string | undefined): Answer {
    return { status: 401, body: { error: { code: 'invalid_token' } } }
  }

  // Reading

  ownerOf({ p }: Row): string {
    return String(p.userId)
  }

  rowsOf(user: string): readonly Row[] {
    return [...this.rows.values()].filter((row) => this.ownerOf(row) === user)
  }

  callerOf(user: string): string {
    return `caller-${user}`
  }

  async snapshot(user: string): Promise<unknown> {
    const rows = this.rowsOf(user)
    return {
      sid: this.sid,
      epoch: this.epoch,
      caller: this.callerOf(user),
      count: rows.length,
      lines: true,
      rows,
    }
  }

  framesOf(user: string, since: number): readonly Frame[] {
    return this.log
      .filter(({ owner, frame }) => owner === user && frame.sid > since)
      .map(({ frame }) => frame)
  }

  changesOf(user: string, since: number): Fields {
    return { frames: this.framesOf(user, since) }
  }

  sinceOf(query: URLSearchParams): number | undefined {
    const text = query.get('since') ?? ''
    const since = /^\d+$/.test(text) ? Number(text) : Number.NaN
    return Number.isSafeInteger(since) ? since : undefined
  }

  async delta(user: string, since: number): Promise<Answer> {
    if (since < this.horizon) return { status: 410 }
    const body = {
      sid: this.sid,
      epoch: this.epoch,
      caller: this.callerOf(user),
      ...this.changesOf(user, since),
    }
    return { status: 200, body }
  }

  // Writing

  isBody(body: unknown): boolean {
    if (!isObject(body) || !Array.isArray(body.txs) || body.txs.length === 0) return false
    return body.txs.every(
      (tx) =>
        isObject(tx) &&
        typeof tx.id === 'string' &&
        /^[^\0\p{Surrogate}]{1,64}$/u.test(tx.id) &&
        Number.isSafeInteger(tx.since) &&
        Array.isArray(tx.ops) &&
        tx.ops.length > 0,
    )
  }

  isOp(op: unknown): boolean {
    if (!isObject(op)) return false
    const isName = (name: unknown) => this.isText(name) && name !== '__proto__' && String(name).length <= 255
    const { op: kind, t, id, p = {} } = op
    return (
      isName(t) && isName(id) && ['i', 'u', 'd'].includes(String(kind)) && isObject(p) && this.isValue(p, 499)
    )
  }

  isText(value: unknown): boolean {
    return typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value)
  }

  isNumber(value: number): boolean {
    return Number.isFinite(value)
  }

  isValue(value: unknown, levels: number): boolean {
    if (typeof value === 'string') return this.isText(value)
    if (typeof value === 'number') return this.isNumber(value)
    if (typeof value !== 'object' || value === null) return true
    return (
      levels > 0 &&
      Object.entries(value).every(
        ([name, item]) => name !== '__proto__' && this.isText(name) && this.isValue(item, levels - 1),
      )
    )
  }

  bodyOf({ ops, requires = [] }: Tx): string {
    return JSON.stringify([ops, requires], (_, item) =>
      isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
    )
  }

  /** One transaction after the other. */
  serially<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }

  /** The key under which a verdict is stored. */
  verdictKey(user: string, id: string): string {
    return JSON.stringify([user, id])
  }

  decide(user: string, tx: Tx, request?: IncomingMessage): Promise<Fields> {
    return this.serially(() => this.decideNow(user, tx, request))
  }

  async decideNow(user: string, tx: Tx, _request?: IncomingMessage): Promise<Fields> {
    const { id } = tx
    const key = this.verdictKey(user, id)
    const first = this.verdicts.get(key)
    const body = this.bodyOf(tx)
    if (first && first.body !== body) return this.reused(id, first.verdict)
    const verdict = first?.verdict ?? (await this.verdictOn(user, tx))
    this.remember(key, body, verdict)
    return { id, ...verdict }
  }

  reused(id: string, verdict: Verdict): Fields {
    return { id, error: { code: 'id_reused', details: verdict } }
  }

  remember(key: string, body: string, verdict: Verdict): void {
    this.verdicts.set(key, { body, verdict })
  }

  isAccepted(user: string, id: string): boolean {
    const verdict = this.verdicts.get(this.verdictKey(user, id))?.verdict
    return verdict !== undefined && 'sid' in verdict
  }

  async verdictOn(user: string, tx: Tx): Promise<Verdict> {
    const wrong = tx.ops.findIndex((op) => !this.isOp(op))
    if (wrong >= 0) return { error: { code: 'invalid', details: { op: wrong } } }
    if (tx.requires?.some((id) => !this.isAccepted(user, id)))
      return { error: { code: 'dependency_rejected' } }
    return this.apply(user, tx)
  }

  isChanged(user: string, { t, id }: Op, since: number, tx: Tx): boolean {
    if (since < this.horizon || since > this.sid) return true
    return this.log.some(
      ({ owner, frame }) =>
        owner === user &&
        frame.t === t &&
        frame.id === id &&
        frame.sid > since &&
        !tx.bases?.includes(frame.tx ?? ''),
    )
  }

  merged(before: Row, p: Fields): Fields {
    return { ...before.p, ...p }
  }

  /** What is left of an op with `was`; `undefined` if nothing is. */
  remaining(op: Op, before: Row | undefined): Op | undefined {
    const { was, unset = [], p = {} } = op
    if (was === undefined) return op
    if (op.op === 'i') return before ? undefined : op
    if (!before || was === null) return undefined
    const isSame = (name: string) =>
      JSON.stringify(before.p[name] ?? null) === JSON.stringify(was[name] ?? null)
    if (op.op === 'd') {
      const isAll = !op.whole || Object.keys(before.p).every((name) => name in was)
      return isAll && Object.keys(was).every(isSame) ? op : undefined
    }
    const stays = (name: string) => !(name in was) || isSame(name)
    const left = {
      p: Object.fromEntries(Object.entries(p).filter(([name]) => stays(name))),
      unset: unset.filter(stays),
    }
    return Object.keys(left.p).length + left.unset.length === 0 ? undefined : { ...op, ...left }
  }

  /** Carries out all ops or none. */
  async apply(user: string, tx: Tx): Promise<Verdict> {
    const draft = new Map<string, Row | undefined>()
    const entries: Entry[] = []
    for (const sent of tx.ops) {
      const { t, id } = sent
      const key = JSON.stringify([t, id])
      const found = draft.has(key) ? draft.get(key) : this.rows.get(key)
      const before = found && this.isOwn(user, found) ? found : undefined
      const op = this.remaining(sent, found && before)
      if (!op || (sent.was === null && found)) continue
      if (op.op === 'i' && found && !(op.put && before)) return { error: { code: 'exists' } }
      if (op.op === 'u' && !before) return { error: { code: 'not_found' } }
      if (op.unchangedSince !== undefined && this.isChanged(user, op, op.unchangedSince, tx))
        return { error: { code: 'conflict' } }
      if (op.op === 'd' && !before) continue
      const { p = {}, unset = [] } = op
      const merged = op.op === 'u' && before ? this.merged(before, p) : { userId: user, ...this.kept(p) }
      const fields = Object.fromEntries(Object.entries(merged).filter(([name]) => !unset.includes(name)))
      const after = op.op === 'd' ? undefined : { t, id, p: fields }
      draft.set(key, after)
      entries.push(...this.entriesOf(user, op, before, after, tx))
    }
    return this.commit(draft, entries)
  }

  isOwn(user: string, row: Row): boolean {
    return this.ownerOf(row) === user
  }

  /** The fields as they are stored. */
  kept(p: Fields): Fields {
    return p
  }

  /** The changes of one op, still without their `sid`. */
  entriesOf(
    user: string,
    { op, t, id, p = {}, unset = [] }: Op,
    before: Row | undefined,
    after: Row | undefined,
    tx: Tx,
  ): Entry[] {
    const common = { sid: 0, t, id, tx: tx.id }
    if (!after) return [{ owner: user, frame: { ...common, op: 'd' } }]
    const owner = this.ownerOf(after)
    const whole: Entry = { owner, frame: { ...common, op: 'i', p: after.p } }
    if (before && owner !== user) return [...this.farewell(user, { ...common, op: 'd' }), whole]
    if (op === 'i' || unset.length > 0) return [whole]
    return [{ owner, frame: { ...common, op: 'u', p } }]
  }

  /** What the old owner of a record gets that moves. */
  farewell(owner: string, frame: Frame): Entry[] {
    return [{ owner, frame }]
  }

  numbered(entries: readonly Entry[]): readonly Entry[] {
    return entries.map(({ owner, frame }, at) => ({ owner, frame: { ...frame, sid: this.sid + at + 1 } }))
  }

  async commit(draft: ReadonlyMap<string, Row | undefined>, entries: readonly Entry[]): Promise<Verdict> {
    const numbered = this.numbered(entries)
    for (const [key, row] of draft) this.store(key, row)
    this.sid = Math.max(this.sid, ...numbered.map(({ frame }) => frame.sid))
    this.log.push(...numbered)
    this.push(numbered)
    return { sid: this.resultSid(numbered) }
  }

  store(key: string, row: Row | undefined): void {
    if (row) this.rows.set(key, row)
    else this.rows.delete(key)
  }

  resultSid(entries: readonly Entry[]): number {
    return entries.at(-1)?.frame.sid ?? this.sid
  }

  // Sockets

  push(entries: readonly Entry[]): void {
    for (const [socket, listener] of this.sockets) {
      const frames = entries.filter(({ owner }) => this.hears(listener.user, owner)).map(({ frame }) => frame)
      if (frames.length === 0) continue
      const { since } = listener
      listener.since = this.sid
      this.sendPush(socket, since, frames)
    }
  }

  hears(user: string, owner: string): boolean {
    return user === owner
  }

  sendPush(socket: WebSocket, since: number, frames: readonly Frame[]): void {
    socket.send(JSON.stringify({ since, sid: frames.at(-1)?.sid, frames }))
  }

  opened(socket: WebSocket, user: string): void {
    this.subscribe(socket, user)
    socket.send(JSON.stringify({ hello: this.hello(user) }))
    const beat = setInterval(() => this.beat(socket), this.heartbeatMs)
    socket
      .on('error', () => {})
      .on('close', () => {
        clearInterval(beat)
        this.sockets.delete(socket)
      })
  }

  subscribe(socket: WebSocket, user: string): void {
    this.sockets.set(socket, { user, since: this.sid })
  }

  hello(user: string): Fields {
    const { sid, epoch, features, heartbeatMs } = this
    return { sid, epoch, caller: this.callerOf(user), features, heartbeatMs }
  }

  beat(socket: WebSocket): void {
    const since = this.sockets.get(socket)?.since ?? 0
    socket.send(JSON.stringify({ since, sid: since, frames: [] }))
  }

  // HTTP

  cors({ headers }: IncomingMessage, _status: number): Readonly<Record<string, string>> {
    return {
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-allow-credentials': 'true',
      vary: 'Origin',
    }
  }

  fixedHeaders(): Readonly<Record<string, string>> {
    return { 'cache-control': 'no-store' }
  }

  async answer(request: IncomingMessage, path: string, query: URLSearchParams): Promise<Answer> {
    if (request.method === 'OPTIONS') return { status: 204 }
    const token = this.tokenOf(request, query)
    const user = this.userOf(token, path)
    if (user === undefined) return this.refusal(token)
    if (path === '/bootstrap') return { status: 200, body: await this.snapshot(user) }
    if (path === '/tx') return this.transact(user, request)
    if (path !== '/delta') return { status: 404 }
    const since = this.sinceOf(query)
    return since === undefined
      ? { status: 400, body: { error: { code: 'bad_since' } } }
      : this.delta(user, since)
  }

  async transact(user: string, request: IncomingMessage): Promise<Answer> {
    const body = parse(await textOfStream(request))
    if (!this.isBody(body)) return { status: 400 }
    const results: Fields[] = []
    for (const tx of (body as { readonly txs: readonly Tx[] }).txs)
      results.push(await this.decide(user, tx, request))
    const { sid, epoch, features } = this
    return { status: 200, body: { sid, epoch, caller: this.callerOf(user), features, results } }
  }

  textOf(body: unknown): string {
    if (!isObject(body) || !Array.isArray(body.rows) || body.lines !== true) return JSON.stringify(body)
    const { rows, ...rest } = body
    const lines = (rows as readonly unknown[]).map((row) => `${JSON.stringify(row)}\n`)
    return `${JSON.stringify(rest).slice(0, -1)},"rows":[${lines.join(',')}]}`
  }

  bytesOf(
    text: string,
    { headers }: IncomingMessage,
  ): { readonly bytes: string | Buffer; readonly encoding?: string } {
    const isWanted = /\bgzip\b/.test(String(headers['accept-encoding'])) && text.length > 500
    return isWanted ? { bytes: gzipSync(text), encoding: 'gzip' } : { bytes: text }
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = addressOf(request)
    const { status, body, headers } = await this.answer(request, path, query)
    const { bytes, encoding } = this.bytesOf(body === undefined ? '' : this.textOf(body), request)
    response.writeHead(status, {
      ...this.fixedHeaders(),
      ...this.cors(request, status),
      ...headers,
      ...(encoding && { 'content-encoding': encoding }),
    })
    response.end(status === 204 ? undefined : bytes)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function addressOf({ url = '' }: IncomingMessage): {
  readonly path: string
  readonly query: URLSearchParams
} {
  const [path = '', query] = url.split('?')
  return { path: path.replace('/sync/v1', ''), query: new URLSearchParams(query) }
}

/** Puts a server on a free port of 127.0.0.1. */
export async function listen(server: SmallServer, { hasSocket = true } = {}) {
  const http = createServer((request, response) => {
    server.respond(request, response).catch(() => {
      response.writeHead(500)
      response.end()
    })
  })
  const upgrades = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    const { path, query } = addressOf(request)
    const user = server.userOf(server.socketTokenOf(request, query), path)
    if (user === undefined) return socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n')
    if (!hasSocket) return socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
    upgrades.handleUpgrade(request, socket, head, (opened) => server.opened(opened, user))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/sync/v1`,
    async close() {
      for (const socket of upgrades.clients) socket.terminate()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
