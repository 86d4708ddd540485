import { check } from '../base/check-options.ts'
import type { Clock, Random } from '../base/environment.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import { type Caller, ownersOf, type RefusalCode } from '../server/auth/caller.ts'
import { MemoryLog } from '../server/log/memory-log.ts'
import type { SyncServiceOptions } from '../server/options.ts'
import type { AcceptSocket } from '../server/realtime/server-socket.ts'
import { createServiceWith, type SyncService } from '../server/service.ts'
import { type BareOptions, BareServer } from './bare.ts'
import { isName } from './checks.ts'
import { FaultPlan, type ServerResponse } from './faults.ts'
import { type BreakableSocket, Sockets } from './sockets.ts'
import { Tokens } from './tokens.ts'

/** The options of the service that a test may set. The service has no tables of an application, so `as` is left out. */
export type ServiceOptions = Omit<
  SyncServiceOptions,
  'database' | 'authenticate' | 'ownerField' | 'path' | 'allowedOrigins' | 'as' | 'clock' | 'random'
>

export interface BackendOptions {
  readonly service: ServiceOptions & { readonly ownerField: string; readonly path: string }
  readonly clock: Clock
  readonly random: Random
  readonly callerOf: (identity: string) => Caller
  /** How to speak without the extensions; `undefined`: with all of them. */
  readonly bare: BareOptions | undefined
  /** Timers that end with the server. */
  readonly timers: Pick<Clock, 'after'>
  /** Receives each promise of work in the service. A virtual clock stops until the promise settles. */
  readonly during: <T>(work: Promise<T>) => Promise<T>
}

/** A request that reached the server. It holds no credential. */
export interface MockRequest {
  /** When the request arrived, in ms since the epoch. */
  readonly at: number
  /** The identity of the token, valid or not; `undefined` without a known token. */
  readonly identity: string | undefined
  readonly method: string
  /** The last part of the path: `bootstrap`, `delta`, `tx` or `ws`. */
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
  /** The body: the parsed value of JSON, or else the text; `undefined` without a body. */
  readonly body: unknown
}

interface History {
  readonly log: MemoryLog
  readonly service: SyncService
}

/** The reference service in memory, and the faults of requests on the way to the service. */
export class Backend {
  readonly tokens: Tokens
  readonly faults = new FaultPlan()
  readonly sockets: Sockets
  readonly requests: MockRequest[] = []
  listening = true
  readonly #options: BackendOptions
  readonly #bare: BareServer | undefined
  #history: History
  #epoch = 0

  constructor(options: BackendOptions) {
    this.#options = options
    this.tokens = new Tokens(options.clock, options.callerOf)
    this.#bare =
      options.bare && new BareServer(options.bare, options.timers, (identity) => this.rows(identity))
    this.sockets = new Sockets(this.#bare)
    this.#history = this.#begin()
  }

  get service(): SyncService {
    return this.#history.service
  }

  get log(): MemoryLog {
    return this.#history.log
  }

  get hasSocket(): boolean {
    return this.#bare?.hasSocket !== false
  }

  async fetch(request: Request): Promise<Response> {
    const answer = await this.#receive(request, () => this.service.fetch(request))
    if (typeof answer === 'function') throw new Error('The service opened a socket for a plain HTTP request.')
    return answer
  }

  async upgrade(request: Request): Promise<Response | ((socket: BreakableSocket) => void)> {
    const answer = await this.#receive(request, () => this.service.upgrade(request))
    if (typeof answer !== 'function') return answer
    const accept: AcceptSocket = answer
    return (socket) => accept(this.sockets.add(socket, this.tokens.identityOf(request)))
  }

  /** The rows of `identity`, as in a bootstrap. */
  async rows(identity: string): Promise<readonly WireRow[]> {
    check('identity', identity, isName)
    const { service, callerOf } = this.#options
    const { batches } = await this.log.snapshot(ownersOf(callerOf(identity), service.ownerField) ?? [])
    const rows: WireRow[] = []
    for await (const batch of batches) rows.push(...JSON.parse(`[${batch}]`))
    return rows
  }

  /** Refuses the tokens of `identity`, and closes the sockets that were opened with them. */
  end(identity: string, refused: RefusalCode): void {
    this.tokens.end(identity, refused)
    this.service.revoke((caller) => this.tokens.hasEnded(caller))
  }

  /** Changes the epoch, as an upgrade of the service does that invalidates all positions. */
  changeEpoch(): void {
    this.#epoch += 1
    this.sockets.restart()
  }

  /** Replaces the history by another one, which contains `ops` only. */
  async restore(ops: readonly TxOp[]): Promise<void> {
    const next = this.#begin()
    await next.service.write(ops)
    const { service } = this
    this.#history = next
    await service.close()
  }

  #begin(): History {
    const { clock, random } = this.#options
    const log = new MemoryLog({ clock, random })
    const epochOf = (history: string, _field: string, owners: readonly string[]) =>
      `${history}.${this.#epoch}.${JSON.stringify(owners)}`
    const authenticate = (request: Request) => this.tokens.authenticate(request)
    const service = createServiceWith(epochOf, {
      ...this.#options.service,
      clock,
      random,
      database: log,
      authenticate,
    })
    return { log, service }
  }

  async #receive(request: Request, ask: () => Promise<ServerResponse>): Promise<ServerResponse> {
    if (!this.listening) throw new Error('Connection refused.')
    const { endpoint, identity } = await this.#note(request)
    const bare = this.#bare
    if (bare && endpoint === 'ws' && !bare.hasSocket) return new Response(null, { status: 404 })
    const answered = async () => {
      const answer = await ask()
      return bare && typeof answer !== 'function' ? bare.response(endpoint, identity, answer) : answer
    }
    const work = async () => {
      const answer = await this.#options.during(answered())
      await bare?.responseDue(endpoint)
      return answer
    }
    const fault = this.faults.take(endpoint)
    return fault ? fault(work, request) : work()
  }

  async #note(request: Request): Promise<MockRequest> {
    const { pathname, searchParams } = new URL(request.url)
    const { token: _, ...query } = Object.fromEntries(searchParams)
    const note = {
      at: this.#options.clock.now(),
      identity: this.tokens.identityOf(request),
      method: request.method,
      endpoint: pathname.slice(pathname.lastIndexOf('/') + 1),
      query,
      body: request.body === null ? undefined : parsed(await request.clone().text()),
    }
    this.requests.push(note)
    return note
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
