import { check, checkOptions } from '../base/check-options.ts'
import type { Clock } from '../base/environment.ts'
import type { SyncClient } from '../client/sync-client.ts'
import type { ModelDefinitions } from '../models/models.ts'
import type { WireRow } from '../protocol/row.ts'
import { type RejectionCode, rejectionCodes, type TxOp } from '../protocol/tx.ts'
import { Backend, type MockRequest } from './backend.ts'
import { isName, oneOf } from './checks.ts'
import { type MockClientOptions, MockDevice, mockClosed } from './device.ts'
import {
  delayedBy,
  type FaultScope,
  type FaultyResponse,
  type FaultyResponseOptions,
  faultyResponse,
  isCount,
  rejection,
  responseLost,
  unanswered,
  wrongChecks,
} from './faults.ts'
import type { MockSyncServerOptions } from './options.ts'
import { type SettleOptions, settled } from './settle.ts'
import type { BreakableSocket, HeldPush } from './sockets.ts'
import type { Time } from './time.ts'
import { Timers } from './timers.ts'
import { settle } from './turns.ts'
import type { VirtualEnvironment } from './virtual-environment.ts'
import { seededRandom } from './virtual-random.ts'

/** An in-memory server, the network between the server and its clients, and the commands for a test. */
export class MockSyncServer<C extends Clock = Clock> {
  readonly baseUrl: string
  readonly clock: C
  readonly #time: Time<C>
  readonly #seed: number
  readonly #latencyMs: number
  readonly #ownerField: string
  readonly #backend: Backend
  readonly #timers: Timers
  readonly #devices: MockDevice<C>[] = []
  readonly #first: MockDevice<C>
  #closed = false

  constructor(time: Time<C>, options: MockSyncServerOptions) {
    const {
      baseUrl: address = 'https://sync.test/sync/v1',
      seed = 1,
      latencyMs = time.latencyMs,
      callerOf = (identity) => ({ userId: identity, organizationId: identity, owners: [identity] }),
      ownerField = 'userId',
      bare,
      ...service
    } = options
    const baseUrl = address.replace(/\/$/, '')
    this.baseUrl = baseUrl
    this.clock = time.clock
    this.#time = time
    this.#seed = seed
    this.#latencyMs = latencyMs
    this.#ownerField = ownerField
    this.#timers = new Timers(time.clock)
    this.#backend = new Backend({
      clock: time.clock,
      random: seededRandom(seed),
      // `URL` gives an address without a path the path `/`.
      service: { ...service, ownerField, path: new URL(baseUrl).pathname.replace(/\/$/, '') },
      callerOf,
      bare,
      timers: this.#timers,
      during: time.during,
    })
    this.#first = this.device()
  }

  /** The `environment` option for a client that is created with `new SyncClient`. */
  get environment(): VirtualEnvironment<C> {
    return this.#first.environment
  }

  /** The requests that have reached the server, without credentials. */
  get requests(): readonly MockRequest[] {
    return this.#backend.requests
  }

  /** Creates another device, with its own network that can be disconnected. Throws a ClosedError after `close`. */
  device(): MockDevice<C> {
    if (this.#closed) throw mockClosed()
    const { baseUrl, clock } = this
    const device = new MockDevice({
      server: this.#backend,
      seed: this.#seed + this.#devices.length + 1,
      clock,
      latencyMs: this.#latencyMs,
      baseUrl,
      hasSocket: this.#backend.hasSocket,
      tokenOf: (identity) => this.#backend.tokens.newest(identity),
    })
    this.#devices.push(device)
    return device
  }

  /**
   * Creates a client of this server, without starting it. Throws as `new SyncClient` does, and a ClosedError after
   * `close`.
   */
  client<M extends ModelDefinitions = ModelDefinitions>(options: MockClientOptions<M>): SyncClient<M> {
    return this.#first.client(options)
  }

  /**
   * Resolves when everything is settled: no request or message is in transit, every running client is in step or knows
   * that it is offline, no reachable client has writes to send, and nothing has happened for `quietMs`. Rejects with an
   * Error that names the activity after `limitMs`. Does not wait for the effects of a fault with `times: Infinity`.
   */
  async settle(options: SettleOptions = {}): Promise<void> {
    await this.#backend.service.ready()
    const { clock, wait, settling } = this.#time
    const scene = { clock, wait, backend: this.#backend, devices: this.#devices }
    return settled(scene, options, settling)
  }

  /**
   * Writes on the server, as `service.write` does, whoever owns the records. `owner`: the owner of inserted records
   * that name none. Resolves with the `sid` of the last change. Rejects with a WriteRejectedError.
   */
  async write(ops: readonly TxOp[], owner?: string): Promise<{ readonly sid: number }> {
    const result = await this.#backend.service.write(this.#owned(ops, owner))
    // After this, the pushes of the write are in transit or held.
    await settle()
    return result
  }

  /** The rows that the server has for `identity`. */
  async rows(identity: string): Promise<readonly WireRow[]> {
    return this.#backend.rows(identity)
  }

  /**
   * Returns a new token for `identity`, which its clients send from now on. `lifetimeMs`: when the token expires, in
   * ms.
   */
  token(identity: string, lifetimeMs?: number): string {
    return this.#backend.tokens.issue(identity, lifetimeMs)
  }

  /** Makes the tokens of `identity` expire: requests get 401, and sockets are closed with 4401. */
  expire(identity: string): void {
    this.#backend.end(identity, 'token_expired')
  }

  /** Revokes the tokens of `identity`: as `expire`, with another reason. */
  revoke(identity: string): void {
    this.#backend.end(identity, 'invalid_token')
  }

  /** Sends `message` as JSON on all open sockets, or on those of `identity`. */
  push(message: unknown, identity?: string): void {
    this.#backend.sockets.push(message, identity)
  }

  /** Holds all pushes of the service from now on, including heartbeats. The first message of a socket is not held. */
  hold(): void {
    this.#backend.sockets.holding = true
  }

  /** The held pushes, in the order in which the service pushed them. */
  get held(): readonly HeldPush[] {
    return this.#backend.sockets.held
  }

  /** Sends the held pushes, and stops holding. */
  release(): void {
    this.#backend.sockets.release()
  }

  /** Drops the held pushes, and stops holding. */
  drop(): void {
    this.#backend.sockets.held = []
    this.release()
  }

  /** Forgets the changes up to `sid`, by default all: a delta request from below gets 410. */
  async trim(sid = Number.MAX_SAFE_INTEGER): Promise<void> {
    await this.#backend.log.trim(sid)
  }

  /** Changes the epoch: positions belong to another history from now on. The records stay the same. */
  changeEpoch(): void {
    this.#backend.changeEpoch()
  }

  /** Begins another history, as restoring a backup does. Its only records are those that `ops` create. */
  async restore(ops: readonly TxOp[] = [], owner?: string): Promise<void> {
    return this.#backend.restore(this.#owned(ops, owner))
  }

  /** Refuses new connections, and breaks the open ones. */
  down(): void {
    this.#backend.listening = false
    this.#backend.sockets.terminate()
  }

  up(): void {
    this.#backend.listening = true
  }

  /** Handles the next request at once, and delays its response by `ms`. */
  late(ms: number, scope: FaultScope = {}): void {
    this.#backend.faults.add(delayedBy(ms, this.#timers), scope)
  }

  /** Sends a response that breaks the protocol to the next request. */
  wrong(wrong: FaultyResponse, options: FaultyResponseOptions = {}): void {
    this.#backend.faults.add(faultyResponse(wrong, options), options, wrongChecks)
  }

  /** Ignores the next request: it has no effect and gets no response. */
  never(scope: FaultScope = {}): void {
    this.#backend.faults.add(unanswered, scope)
  }

  /** Handles the next request, and breaks the connection before the response. */
  loseResponse(scope: FaultScope = {}): void {
    this.#backend.faults.add(responseLost, scope)
  }

  /** Rejects each transaction of the next request to `tx` with `code`, without applying any. */
  reject(code: RejectionCode, options: { readonly message?: string; readonly times?: number } = {}): void {
    check('code', code, oneOf(rejectionCodes))
    checkOptions(options, { message: isName, times: isCount })
    const { message = 'Rejected by the test.', times = 1 } = options
    const head = async () => (await this.#backend.log.position()).head
    this.#backend.faults.add(rejection(code, message, head), { endpoint: 'tx', times })
  }

  /** Cancels all faults that were planned for the next requests. */
  heal(): void {
    this.#backend.faults.clear()
  }

  /** Handles a request from a custom network. Rejects if the connection is refused or breaks. */
  fetch(request: Request): Promise<Response> {
    return this.#backend.fetch(request)
  }

  /**
   * Handles a socket request from a custom network. Resolves with the response that refuses the socket, or with a
   * function that accepts the server's end. Rejects as `fetch` does.
   */
  upgrade(request: Request): Promise<Response | ((socket: BreakableSocket) => void)> {
    return this.#backend.upgrade(request)
  }

  /** Closes the clients, then the server and the network. Afterwards, there is no timer, request or socket left. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#time.until(Promise.all(this.#devices.map((device) => device.close())))
    await this.#backend.service.close()
    for (const { network } of this.#devices) network.close()
    this.#timers.clear()
  }

  #owned(ops: readonly TxOp[], owner: string | undefined): readonly TxOp[] {
    if (this.#closed) throw mockClosed()
    check('ops', ops, [Array.isArray, 'a list of ops'])
    if (owner === undefined) return ops
    return ops.map((op) => (op.op === 'i' ? { ...op, p: { [this.#ownerField]: owner, ...op.p } } : op))
  }
}
