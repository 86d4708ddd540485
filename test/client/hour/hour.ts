import { type Environment, memoryStore, SyncClient } from '../../../src/index.ts'
import { BareServer } from '../../support/bare-server.ts'
import { virtualMount } from '../../support/bare-server-virtual.ts'
import { baseUrl } from '../../support/device.ts'
import { JumpingClock } from '../../support/jumping-clock.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { virtualEnvironment } from '../../support/virtual-environment.ts'
import { VirtualNetwork } from '../../support/virtual-network.ts'
import { mulberry32 } from '../../support/virtual-random.ts'

/** Records by their id. */
type Rows = { readonly [id: string]: unknown }

/** A server that fails, one client before it, and a seed that says all that happens to them. */
export class Hour {
  readonly random: () => number
  readonly clock = new VirtualClock()
  /** The client's own, which may be set. */
  readonly itsClock = new JumpingClock(this.clock)
  readonly server: BareServer
  readonly mount: ReturnType<typeof virtualMount>
  readonly network: VirtualNetwork
  readonly environment: ReturnType<typeof virtualEnvironment>
  readonly client: SyncClient
  /** The promises that the client has given and not settled. */
  readonly pending = new Set<Promise<unknown>>()
  /** What was told as an error that no network and no server can be blamed for. */
  readonly faults: string[] = []
  readonly #store = memoryStore()
  #token: string
  #ids = 0

  constructor(seed: number) {
    this.random = mulberry32(seed)
    const { clock } = this
    this.server = new BareServer({
      seed,
      now: () => clock.now(),
      snapshotSid: this.pick(['first', 'last']),
      snapshotTo: this.pick(['head', 'rows']),
      delta: this.pick(['frames', 'both']),
      deltaSid: this.pick(['frames', 'head']),
      push: this.pick(['none', 'frame', 'frames', 'delta', 'sid', 'hint']),
      chunkBytes: this.pick([0, 200]),
    })
    this.mount = virtualMount(this.server)
    this.network = new VirtualNetwork({ clock, server: this.mount })
    this.environment = virtualEnvironment({ seed, clock, network: this.network })
    this.#token = this.server.tokens.issue('ada')
    this.client = this.#clientOf({ ...this.environment, clock: this.itsClock })
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.random() * from.length)] ?? from[0]
  }

  /** A number that was not there before. */
  next(): number {
    this.#ids += 1
    return this.#ids
  }

  /** Keeps an eye on what the client promises, whether it comes true or not. */
  watch(promise: Promise<unknown>): void {
    const settled = () => void this.pending.delete(promise)
    this.pending.add(promise)
    promise.then(settled, settled)
  }

  expireToken(): void {
    this.server.tokens.expire(this.#token)
  }

  /** Lets all work again, and all that was held back come or be lost. */
  heal(): void {
    this.server.heal()
    this.server.behaviour.hold = false
    this.server.held.length = 0
    this.server.sockets.silent = false
    this.mount.up()
    this.network.mend()
    this.network.latencyMs = 20
    this.network.chunkMs = 0
    this.environment.lifecycle.set({ online: true, visible: true })
    this.watch(this.client.start())
    this.signIn()
  }

  /** Somebody comes and signs in. */
  signIn(): void {
    this.#token = this.server.tokens.issue('ada')
    this.client.resume()
  }

  /** The rows that the client shows. */
  get shown(): Rows {
    return rowsOf(this.client)
  }

  /** Those that the server has. */
  get true(): Rows {
    return Object.fromEntries(this.server.data.rows('ada').map(({ id, p }) => [id, { ...p, id }]))
  }

  /** Those that another client finds which starts from what this one has stored, without a network. */
  async stored(): Promise<Rows> {
    this.network.cut()
    const again = this.#clientOf(this.environment)
    await again.start()
    const rows = rowsOf(again)
    await this.clock.until(again.close())
    return rows
  }

  #clientOf(environment: Environment): SyncClient {
    return new SyncClient({
      baseUrl,
      token: () => this.#token,
      identity: 'ada',
      store: this.#store,
      onUnauthenticated: () => this.#renewToken(),
      logger: { debug() {}, info() {}, warn() {}, error: (message) => this.faults.push(message) },
      environment: environment,
    })
  }

  /** Gets a new token: at once, after a while, or not at the first try. */
  async #renewToken(): Promise<string | undefined> {
    const kind = this.pick(['at once', 'slow', 'fails', 'nothing'])
    if (kind === 'fails') throw new Error('No sign-in now.')
    if (kind === 'nothing') return undefined
    if (kind === 'slow') await new Promise<void>((resolve) => void this.clock.after(5_000, resolve))
    this.#token = this.server.tokens.issue('ada', this.clock.now() + 600_000)
    return this.#token
  }
}

function rowsOf(client: SyncClient): Rows {
  return Object.fromEntries(client.all('Issue').map((record) => [record.id, record]))
}
