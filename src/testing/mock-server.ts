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
  type FaultScope,
  type FaultyResponse,
  type FaultyResponseOptions,
  faultyResponse,
  isCount,
  lateBy,
  lost,
  rejection,
  unheard,
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

/** A server in memory, the network before it, and the commands of a test. */
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
      callerOf = (identity) => ({ userId: identity, organizationId: identity }),
      ownerField = 'userId',
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
      // An address without a path has `/` for one.
      service: { ...service, ownerField, path: new URL(baseUrl).pathname.replace(/\/$/, '') },
      callerOf,
      during: time.during,
    })
    this.#first = this.device()
  }

  /** What a client takes from its surroundings, for one that is made with `new SyncClient`. */
  get environment(): VirtualEnvironment<C> {
    return this.#first.environment
  }

  /** The requests that have arrived, without credentials. */
  get requests(): readonly MockRequest[] {
    return this.#backend.requests
  }

  /** Another device, with a network of its own that can be taken away. */
  device(): MockDevice<C> {
    if (this.#closed) throw mockClosed()
    const { baseUrl, clock } = this
    const device = new MockDevice({
      server: this.#backend,
      seed: this.#seed + this.#devices.length + 1,
      clock,
      latencyMs: this.#latencyMs,
      baseUrl,
      tokenOf: (identity) => this.#backend.tokens.newest(identity),
    })
    this.#devices.push(device)
    return device
  }

  /** A client of this server, not started. */
  client<M extends ModelDefinitions = ModelDefinitions>(options: MockClientOptions<M>): SyncClient<M> {
    return this.#first.client(options)
  }

  /**
   * Resolves when nothing is under way: no request, no message, no client that is neither in step nor aware that it
   * is offline, none that has something to send, and for a moment nothing new. Rejects with an Error that says what
   * keeps it, where that does not come about. What follows from a fault without an end is not waited for.
   */
  async settle(options: SettleOptions = {}): Promise<void> {
    await this.#backend.service.ready()
    const { clock, wait, settling } = this.#time
    const scene = { clock, wait, backend: this.#backend, devices: this.#devices }
    return settled(scene, options, settling)
  }

  /**
   * Writes as the service, whosever the records are. `owner` is the owner of what is inserted without one. Resolves
   * with the `sid` of the last change; rejects with a WriteRejectedError.
   */
  async write(ops: readonly TxOp[], owner?: string): Promise<{ readonly sid: number }> {
    const result = await this.#backend.service.write(this.#owned(ops, owner))
    // What is pushed is then on its way, or held.
    await settle()
    return result
  }

  /** The records of `identity` as the server has them. */
  async rows(identity: string): Promise<readonly WireRow[]> {
    return this.#backend.rows(identity)
  }

  /** A new token for `identity`, which its clients send from now on. It ends after `lifetimeMs`, if that is given. */
  token(identity: string, lifetimeMs?: number): string {
    return this.#backend.tokens.issue(identity, lifetimeMs)
  }

  /** Lets the tokens of `identity` expire: requests get 401, and sockets are closed with 4401. */
  expire(identity: string): void {
    const ended = this.#backend.tokens.end(identity, 'token_expired')
    this.#backend.service.revoke((caller) => ended.has(caller))
  }

  /** Takes the tokens of `identity` back; the same, with another reason. */
  revoke(identity: string): void {
    const ended = this.#backend.tokens.end(identity, 'invalid_token')
    this.#backend.service.revoke((caller) => ended.has(caller))
  }

  /** Sends any JSON on the open sockets, or on those of `identity`. */
  push(message: unknown, identity?: string): void {
    this.#backend.sockets.push(message, identity)
  }

  /** Has what the service pushes wait, heartbeats as well. */
  hold(): void {
    this.#backend.sockets.holding = true
  }

  /** What waits, in the order in which it was pushed. */
  get held(): readonly HeldPush[] {
    return this.#backend.sockets.held
  }

  /** Sends what waits, and holds nothing any more. */
  release(): void {
    this.#backend.sockets.release()
  }

  /** Drops what waits, and holds nothing any more. */
  drop(): void {
    this.#backend.sockets.held = []
    this.release()
  }

  /** Forgets the changes up to `sid`: a delta from below is answered with 410. @param sid by default all */
  async trim(sid = Number.MAX_SAFE_INTEGER): Promise<void> {
    await this.#backend.log.trim(sid)
  }

  /** Says from now on that positions count in another history, though the records are the same. */
  changeEpoch(): void {
    this.#backend.changeEpoch()
  }

  /** Begins another history, as a backup that is put back does: what there is then is made by `ops`, and no more. */
  async restore(ops: readonly TxOp[] = [], owner?: string): Promise<void> {
    return this.#backend.restore(this.#owned(ops, owner))
  }

  /** Refuses connections, and breaks those that are open. */
  down(): void {
    this.#backend.listening = false
    this.#backend.sockets.terminate()
  }

  up(): void {
    this.#backend.listening = true
  }

  /** The next answer comes `ms` late; what was asked for is done at once. */
  late(ms: number, scope: FaultScope = {}): void {
    this.#backend.faults.add(lateBy(ms, this.#timers), scope)
  }

  /** The next answer is another than was promised. */
  wrong(wrong: FaultyResponse, options: FaultyResponseOptions = {}): void {
    this.#backend.faults.add(faultyResponse(wrong, options), options, wrongChecks)
  }

  /** The next request is never answered, and never done. */
  never(scope: FaultScope = {}): void {
    this.#backend.faults.add(unheard, scope)
  }

  /** The next request is done, and the connection breaks before its answer comes. */
  loseAnswer(scope: FaultScope = {}): void {
    this.#backend.faults.add(lost, scope)
  }

  /** Rejects each transaction of the next request to `tx` with `code`; none is done. */
  reject(code: RejectionCode, options: { readonly message?: string; readonly times?: number } = {}): void {
    check('code', code, oneOf(rejectionCodes))
    checkOptions(options, { message: isName, times: isCount })
    const { message = 'Rejected by the test.', times = 1 } = options
    const head = async () => (await this.#backend.log.position()).head
    this.#backend.faults.add(rejection(code, message, head), { endpoint: 'tx', times })
  }

  /** Answers as it should again. */
  heal(): void {
    this.#backend.faults.clear()
  }

  /** Answers a request, for a network of one's own. A rejection: the connection is refused, or broke. */
  fetch(request: Request): Promise<Response> {
    return this.#backend.fetch(request)
  }

  /** Decides about a socket: the answer that refuses it, or what takes it. Rejects as `fetch` does. */
  upgrade(request: Request): Promise<Response | ((socket: BreakableSocket) => void)> {
    return this.#backend.upgrade(request)
  }

  /** Closes its clients, then the server and the network. Nothing is left: no timer, no request, no socket. */
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
