import { gzipSync } from 'node:zlib'
import {
  BareData,
  type BareFrame,
  type BareOp,
  type BareWriteOptions,
  type OwnedFrame,
} from './bare-server-data.ts'
import {
  type BareFault,
  type BareRequest,
  type BareResponse,
  bytesOf,
  FaultPlan,
} from './bare-server-faults.ts'
import { oddChunks, oddJson, oddObject } from './odd-json.ts'
import { mulberry32 } from './virtual.ts'

/** What the interface document leaves open, each a choice of the test that may change at any time. */
export interface BareBehaviour {
  /** `loose`: keys in any order, white space and escapes anywhere, by the seed. @default 'loose' */
  text: 'compact' | 'loose'
  /** Where a snapshot has its `sid`. @default 'first' */
  snapshotSid: 'first' | 'last'
  /** A snapshot's `sid`: the highest of all data, or of the changes to the rows that are in it. @default 'head' */
  snapshotTo: 'head' | 'rows'
  /** `row`: a single row with `sid`, where just one record changed. @default 'frames' */
  delta: 'frames' | 'rows' | 'row' | 'both'
  /** A delta's `sid`: that of its last frame (or `since` again), or the highest of all data. @default 'frames' */
  deltaSid: 'frames' | 'head'
  /** @default 'frame' */
  push: PushShape
  /** Pushes wait in `held` for the test to send them. @default false */
  hold: boolean
  /** Compresses for whoever accepts it. @default false */
  gzip: boolean
  /** Sends bodies in pieces of at most so many bytes; 0 sends them whole. @default 0 */
  chunkBytes: number
}

export interface BareServerOptions extends Partial<BareBehaviour> {
  readonly seed?: number
  /** @default Date.now */
  readonly now?: () => number
}

export type LoggedRequest = BareRequest & { readonly at: number }

/** Where the interface puts its endpoints. */
export const barePrefix = '/sync/v1'

/**
 * A server that knows nothing but the interface document: no epoch, no hello, no heartbeat, no `since` in pushes. It
 * is the measure of what a client can rely on. This is its core; a mount puts it on a network.
 */
export class BareServer {
  readonly behaviour: BareBehaviour
  readonly data = new BareData()
  readonly tokens: BareTokens
  readonly sockets = new BareSockets()
  /** Every request that arrived, upgrades included. */
  readonly requests: LoggedRequest[] = []
  /** The pushes that wait, in the order of their writes; filled while `behaviour.hold`. */
  readonly held: HeldPush[] = []
  readonly #faults = new FaultPlan()
  readonly #random: () => number
  readonly #now: () => number

  constructor({ seed = 1, now = Date.now, ...behaviour }: BareServerOptions = {}) {
    this.#random = mulberry32(seed)
    this.#now = now
    this.tokens = new BareTokens(this.#random, now)
    this.behaviour = {
      text: 'loose',
      snapshotSid: 'first',
      snapshotTo: 'head',
      delta: 'frames',
      deltaSid: 'frames',
      push: 'frame',
      hold: false,
      gzip: false,
      chunkBytes: 0,
      ...behaviour,
    }
  }

  /** Writes for `owner`, and pushes as `behaviour` says. Gives the highest `sid` there is then. */
  write(owner: string, ops: readonly BareOp[], options?: BareWriteOptions): number {
    const written = this.data.write(owner, ops, this.#now(), options)
    for (const { owner: to, message } of pushesOf(written, this.behaviour.push)) {
      const text = oddJson(message, this.#random)
      const send = () => this.sockets.send(to, text)
      if (this.behaviour.hold) this.held.push({ owner: to, text, send })
      else send()
    }
    return this.data.sid
  }

  /** Puts `fault` in place of the next `times` answers, of any path or of those that end in `path`. */
  failNext(fault: BareFault, { times = 1, path }: { times?: number; path?: string } = {}): void {
    this.#faults.add(fault, times, path)
  }

  /** Answers as it should again. */
  heal(): void {
    this.#faults.clear()
  }

  handle(request: BareRequest): BareResponse {
    this.requests.push({ ...request, at: this.#now() })
    const fault = this.#faults.take(request.path)
    const answer = this.#answer(request)
    return fault ? fault(answer, request) : answer
  }

  /** Why a socket is refused, or what takes it once it is open; that in turn gives what to call when it is gone. */
  upgrade(request: BareRequest): BareResponse | ((peer: BarePeer) => () => void) {
    this.requests.push({ ...request, at: this.#now() })
    const fault = this.#faults.take(request.path)
    if (fault) return fault(plain(503, ''), request)
    const caller = this.tokens.of(request)
    if (typeof caller === 'string') return plain(401, caller)
    return (peer) => this.sockets.add(caller.userId, peer)
  }

  #answer(request: BareRequest): BareResponse {
    const caller = this.tokens.of(request)
    if (typeof caller === 'string') return plain(401, caller)
    switch (`${request.method} ${request.path}`) {
      case `GET ${barePrefix}/bootstrap`:
        return this.#json(request, this.#snapshot(caller.userId))
      case `GET ${barePrefix}/delta`:
        return this.#delta(request, caller.userId)
      default:
        return plain(404, 'Not found')
    }
  }

  #snapshot(owner: string): [string, unknown][] {
    const all = this.data.rows(owner)
    const there = new Set(all.map(keyOf))
    const last = this.data.framesSince(owner, 0).findLast((frame) => there.has(keyOf(frame)))
    const sid: [string, unknown] = [
      'sid',
      this.behaviour.snapshotTo === 'head' ? this.data.sid : (last?.sid ?? 0),
    ]
    const rows: [string, unknown] = ['rows', all]
    return this.behaviour.snapshotSid === 'first' ? [sid, rows] : [rows, sid]
  }

  #delta(request: BareRequest, owner: string): BareResponse {
    const since = Number(request.query.get('since') ?? Number.NaN)
    if (Number.isNaN(since)) return plain(400, 'since is missing')
    const frames = this.data.framesSince(owner, since)
    const sid = this.behaviour.deltaSid === 'head' ? this.data.sid : (frames.at(-1)?.sid ?? since)
    const changed = new Set(frames.map(keyOf))
    const rows = this.data.rows(owner).filter((row) => changed.has(keyOf(row)))
    const [single] = rows
    const shape = this.behaviour.delta
    if (shape === 'row' && single && rows.length === 1)
      return this.#json(request, Object.entries({ ...single, sid }))
    const lists = { frames: { frames }, rows: { rows }, row: { rows }, both: { rows, frames } }[shape]
    return this.#json(request, Object.entries({ sid, ...lists }))
  }

  #json(request: BareRequest, entries: [string, unknown][]): BareResponse {
    const { text: style, gzip, chunkBytes } = this.behaviour
    const text =
      style === 'loose' ? oddObject(entries, this.#random) : JSON.stringify(Object.fromEntries(entries))
    const body = chunkBytes > 0 ? oddChunks(text, chunkBytes, this.#random) : [text]
    const answer = { status: 200, headers: { 'content-type': 'application/json' }, body }
    if (!gzip || !request.headers['accept-encoding']?.includes('gzip')) return answer
    return {
      ...answer,
      headers: { ...answer.headers, 'content-encoding': 'gzip' },
      body: [gzipSync(bytesOf(answer))],
    }
  }
}

function keyOf({ t, id }: { readonly t: string; readonly id: string }): string {
  return JSON.stringify([t, id])
}

function plain(status: number, text: string): BareResponse {
  return { status, headers: { 'content-type': 'text/plain' }, body: [text] }
}

interface BareToken {
  readonly userId: string
  readonly expiresAt: number
}

/** Opaque tokens, each of one user. */
class BareTokens {
  readonly #tokens = new Map<string, BareToken>()
  readonly #random: () => number
  readonly #now: () => number

  constructor(random: () => number, now: () => number) {
    this.#random = random
    this.#now = now
  }

  /** A new token of `userId`. */
  issue(userId: string, expiresAt = Number.POSITIVE_INFINITY): string {
    const token = `token-${this.#tokens.size}-${Math.floor(this.#random() * 2 ** 32).toString(36)}`
    this.#tokens.set(token, { userId, expiresAt })
    return token
  }

  expire(token: string): void {
    const known = this.#tokens.get(token)
    if (known) this.#tokens.set(token, { ...known, expiresAt: this.#now() })
  }

  /** The token that `request` brings, in its header or, for a socket, in its query; or what is wrong with it. */
  of({ path, query, headers }: BareRequest): BareToken | string {
    const { authorization = '' } = headers
    const bearer = /^Bearer (.+)$/.exec(authorization)?.[1]
    const text = bearer ?? (path.endsWith('/ws') ? query.get('token') : null)
    if (!text) return 'No token provided'
    const token = this.#tokens.get(text)
    if (!token) return 'Invalid token'
    return token.expiresAt > this.#now() ? token : 'Token expired'
  }
}

/** The server's hold on one socket. */
export interface BarePeer {
  send(text: string): void
  close(code: number, reason: string): void
  /** Ends it without a word, so that the other side sees 1006. */
  drop(): void
}

/**
 * What is pushed on each write, none of it with a `since`: nothing; each frame alone; an array of frames; a delta;
 * the position alone; or JSON that means nothing here. The interface shows no message of the socket.
 */
type PushShape = 'none' | 'frame' | 'frames' | 'delta' | 'sid' | 'hint'

/** A message that waits to be sent: sent twice it is a duplicate, never sent it is lost. */
interface HeldPush {
  readonly owner: string
  readonly text: string
  send(): void
}

class BareSockets {
  readonly #open = new Map<BarePeer, string>()
  /** How many have been opened so far. */
  opened = 0
  /** Accepts sockets and says nothing on any. */
  silent = false

  /** How many are open, of `owner` or of all. */
  count(owner?: string): number {
    return [...this.#open.values()].filter((own) => owner === undefined || own === owner).length
  }

  /** Gives what to call when the socket is gone. */
  add(owner: string, peer: BarePeer): () => void {
    this.#open.set(peer, owner)
    this.opened += 1
    return () => this.#open.delete(peer)
  }

  /** Sends any text, JSON or not, on every socket of `owner`. */
  send(owner: string, text: string): void {
    if (this.silent) return
    for (const [peer, own] of [...this.#open]) if (own === owner) peer.send(text)
  }

  /** Ends all of them, without a word or with a code. */
  end(code?: number): void {
    for (const peer of [...this.#open.keys()]) {
      if (code === undefined) peer.drop()
      else peer.close(code, '')
    }
  }
}

/** The messages that one write makes. */
function pushesOf(written: readonly OwnedFrame[], shape: PushShape): { owner: string; message: unknown }[] {
  if (shape === 'none') return []
  if (shape === 'frame') return written.map(({ owner, frame }) => ({ owner, message: frame }))
  const framesByOwner = new Map<string, BareFrame[]>()
  for (const { owner, frame } of written)
    framesByOwner.set(owner, [...(framesByOwner.get(owner) ?? []), frame])
  return [...framesByOwner].map(([owner, frames]) => {
    const sid = Math.max(...frames.map((frame) => frame.sid))
    return {
      owner,
      message: { frames, delta: { sid, frames }, sid: { sid }, hint: { changed: true } }[shape],
    }
  })
}
