import { check } from '../base/check-options.ts'
import type { Clock, Random } from '../base/environment.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Caller, OwnerField } from '../server/auth/caller.ts'
import { MemoryLog } from '../server/log/memory-log.ts'
import type { SyncServiceOptions } from '../server/options.ts'
import type { AcceptSocket } from '../server/realtime/server-socket.ts'
import { createServiceWith, type SyncService } from '../server/service.ts'
import { isName } from './checks.ts'
import { type Answer, FaultPlan } from './faults.ts'
import { type BreakableSocket, Sockets } from './sockets.ts'
import { Tokens } from './tokens.ts'

/** What of the service's options a test may choose. */
export type ServiceOptions = Omit<
  SyncServiceOptions,
  'database' | 'authenticate' | 'ownerField' | 'path' | 'allowedOrigins' | 'clock' | 'random'
>

export interface BackendOptions {
  readonly service: ServiceOptions & { readonly ownerField: OwnerField; readonly path: string }
  readonly clock: Clock
  readonly random: Random
  readonly callerOf: (identity: string) => Caller
  /** Told of all that the service does. */
  readonly during: <T>(work: Promise<T>) => Promise<T>
}

/** A request that reached the server. It holds no credential. */
export interface MockRequest {
  /** When, in ms since the epoch. */
  readonly at: number
  /** Whose token it carried, expired or not. */
  readonly identity: string | undefined
  readonly method: string
  /** The last part of the path: `bootstrap`, `delta`, `tx` or `ws`. */
  readonly endpoint: string
  readonly query: Readonly<Record<string, string>>
  /** What was posted, of JSON its value. */
  readonly body: unknown
}

interface History {
  readonly log: MemoryLog
  readonly service: SyncService
}

/** The reference service in memory, and what can happen to a request on its way there. */
export class Backend {
  readonly tokens: Tokens
  readonly faults = new FaultPlan()
  readonly sockets = new Sockets()
  readonly requests: MockRequest[] = []
  listening = true
  readonly #options: BackendOptions
  #history: History
  #epoch = 0

  constructor(options: BackendOptions) {
    this.#options = options
    this.tokens = new Tokens(options.clock, options.callerOf)
    this.#history = this.#begin()
  }

  get service(): SyncService {
    return this.#history.service
  }

  get log(): MemoryLog {
    return this.#history.log
  }

  async fetch(request: Request): Promise<Response> {
    const answer = await this.#receive(request, () => this.service.fetch(request))
    if (typeof answer === 'function') throw new Error('A socket was opened, and none was asked for.')
    return answer
  }

  async upgrade(request: Request): Promise<Response | ((socket: BreakableSocket) => void)> {
    const answer = await this.#receive(request, () => this.service.upgrade(request))
    if (typeof answer !== 'function') return answer
    const accept: AcceptSocket = answer
    return (socket) => accept(this.sockets.add(socket, this.tokens.identityOf(request)))
  }

  /** The rows of `identity`, as a bootstrap gives them. */
  async rows(identity: string): Promise<readonly WireRow[]> {
    check('identity', identity, isName)
    const { service, callerOf } = this.#options
    const { batches } = await this.log.snapshot(callerOf(identity)[service.ownerField] ?? '')
    const rows: WireRow[] = []
    for await (const batch of batches) rows.push(...JSON.parse(`[${batch}]`))
    return rows
  }

  /** Goes on under another epoch, as after an upgrade of the service that makes the old positions worthless. */
  changeEpoch(): void {
    this.#epoch += 1
    this.sockets.restart()
  }

  /** Has another history, in which nothing happened but `ops`. */
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
    const epochOf = (history: string, _field: string, owner: string) => `${history}.${this.#epoch}.${owner}`
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

  async #receive(request: Request, ask: () => Promise<Answer>): Promise<Answer> {
    if (!this.listening) throw new Error('Connection refused.')
    const { endpoint } = await this.#note(request)
    const work = () => this.#options.during(ask())
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
