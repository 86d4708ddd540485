import * as z from 'zod/mini'
import type { TxOp } from '../../../src/protocol/tx.ts'
import { createSyncService, type SyncService } from '../../../src/server/index.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { seededRandom } from '../../support/virtual-environment.ts'
import type { VirtualServer } from '../../support/virtual-network.ts'
import { SimulatedDevice } from './device.ts'
import type { History } from './history.ts'
import { RestorableLog } from './restorable-log.ts'

export interface SimulationOptions {
  readonly seed: number
  /** Whether the devices have sockets. */
  readonly sockets: boolean
  /** After a 401: at once, or when somebody gets to it. */
  readonly signsInAtOnce: boolean
  /** What each piece of what a device fetches takes, in ms; a whole snapshot is then many pieces. */
  readonly chunkMs: number
  /** What goes wrong in this run. */
  readonly troubles: readonly string[]
}

/** What stands before the service, once. Gives the answer, or passes the request on. */
export type Intercept = (request: Request, pass: () => Promise<Response>) => Promise<Response>

export const types = ['Note', 'Tag'] as const
export const ids = ['0', '1', '2'] as const
/** Whose ids are written in the end, too. */
export const users = ['ada', 'ben'] as const
export const keys = types.flatMap((t) => [...ids, ...users].map((id) => ({ t, id, key: `${t} ${id}` })))

/** Some of a row. */
const pieceBytes = 40

/** What the service takes; no client knows it. */
const record = z.object({ n: z.optional(z.number().check(z.refine((n) => n % 11 !== 0))) })

/** Instep's own service, two devices of Ada's and one of Ben's, and all that became of what they wrote. */
export class Simulation {
  readonly options: SimulationOptions
  readonly clock = new VirtualClock()
  readonly devices: readonly SimulatedDevice[]
  /** The oldest first. */
  readonly histories: History[] = []
  readonly server: VirtualServer
  /** What may not happen, and did. */
  readonly faults: string[] = []
  /** What is done to the next transaction requests, one after another. */
  readonly intercepts: Intercept[] = []
  readonly revoked = new Set<string>()
  requests = 0
  /** Whether the service refuses some of what it is sent. */
  refuses = false
  #log: RestorableLog
  #service: SyncService
  #count = 0

  static async open(options: SimulationOptions): Promise<Simulation> {
    const simulation = new Simulation(options)
    await simulation.#service.ready()
    if (options.chunkMs > 0) await simulation.#fill()
    return simulation
  }

  private constructor(options: SimulationOptions) {
    this.options = options
    this.#log = new RestorableLog({
      clock: this.clock,
      random: seededRandom(options.seed),
      users,
      listener: {
        accepted: (id, history) => this.#checkOrder(id, history),
        conflict: (id, ops, history) => this.#checkConflict(id, ops, history),
      },
    })
    this.#service = this.#open()
    this.server = {
      fetch: (request) => this.#answer(request),
      upgrade: (request) => this.#service.upgrade(request),
    }
    this.devices = ['ada', 'ada', 'ben'].map((user) => new SimulatedDevice(this, user))
  }

  get service(): SyncService {
    return this.#service
  }

  get log(): RestorableLog {
    return this.#log
  }

  get history(): History {
    return this.#log.history
  }

  /** A number that was not there before. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  wasAccepted(id: string): boolean {
    return this.histories.some(({ accepted }) => accepted.has(id))
  }

  /** Writes as the service itself, which knows what its models take. */
  async write(ops: readonly TxOp[]): Promise<void> {
    await this.#service.write(ops)
  }

  /** Another service takes over, on the same log. */
  restart(): Promise<void> {
    return this.#replace(async () => {})
  }

  /** The data is put back to an earlier state, and its history is another one from there on. */
  restore(writesLost: number): Promise<void> {
    return this.#replace(async () => {
      this.#log = await this.#log.restored(Math.max(0, this.#log.writes - writesLost))
    })
  }

  /** What the service shows a user, by type and id. */
  async stored(user: string): Promise<{ readonly [key: string]: unknown }> {
    const { batches } = await this.#log.snapshot(user)
    const rows: { [key: string]: unknown } = {}
    for await (const batch of batches) {
      for (const { t, id, p } of JSON.parse(`[${batch}]`)) rows[`${t} ${id}`] = { ...p, id }
    }
    return rows
  }

  /** Lets everything work again. */
  async heal(): Promise<void> {
    this.intercepts.length = 0
    this.refuses = false
    for (const device of this.devices) await (await device.running()).heal()
  }

  async #answer(request: Request): Promise<Response> {
    this.requests += 1
    const pass = () => this.#service.fetch(request.clone())
    if (!request.url.endsWith('/tx')) return this.#inPieces(await pass())
    for (const { id } of JSON.parse(await request.clone().text()).txs) this.#checkSent(id)
    const intercept = this.intercepts.shift()
    return intercept ? intercept(request, pass) : pass()
  }

  /** So that there is something to fetch from the start. */
  async #fill(): Promise<void> {
    const p = () => ({ n: this.next() * 11 + 1, m: this.next(), userId: 'ada' })
    await this.write(types.flatMap((t) => ids.map((id) => ({ op: 'i' as const, t, id, p: p() }))))
  }

  async #inPieces(answer: Response): Promise<Response> {
    if (this.options.chunkMs === 0 || answer.body === null) return answer
    const bytes = new Uint8Array(await answer.arrayBuffer())
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length) return controller.close()
        controller.enqueue(bytes.subarray(at, at + pieceBytes))
        at += pieceBytes
      },
    })
    return new Response(body, answer)
  }

  async #replace(meanwhile: () => Promise<void>): Promise<void> {
    await this.#service.close()
    await meanwhile()
    this.#service = this.#open()
    await this.#service.ready()
  }

  #open(): SyncService {
    if (this.histories.at(-1) !== this.history) this.histories.push(this.history)
    return createSyncService({
      database: this.#log,
      authenticate: async ({ headers }) => {
        const token = headers.get('authorization')?.replace('Bearer ', '') ?? ''
        return this.revoked.has(token) ? null : { userId: token.split('.')[0] ?? '' }
      },
      ownerField: 'userId',
      models: { Note: record, Tag: record },
      authorize: ({ id }) =>
        this.refuses && id.endsWith('0') ? { message: 'Refused by chance.' } : undefined,
      clock: this.clock,
      random: seededRandom(this.next()),
    })
  }

  /** Only what a user did is sent, under the id that it has. */
  #checkSent(id: string): void {
    const made = this.devices.some(({ ledger }) => ledger.has(id))
    if (!made) this.faults.push(`${id} was sent, and nobody had made it`)
  }

  /** What a restored service had accepted before may come again later. */
  #checkOrder(id: string, history: History): void {
    if (this.wasAccepted(id)) return
    const ledger = this.devices.find((device) => device.ledger.has(id))?.ledger
    const later = [...history.accepted.keys()].find((other) => ledger?.follows(other, id))
    if (later) this.faults.push(`${id} was accepted after ${later}`)
  }

  /** It is somebody else's change that a condition fails of, where the service can still tell. */
  #checkConflict(id: string, ops: readonly TxOp[], history: History): void {
    const { ledger } = this.devices.find((device) => device.ledger.has(id)) ?? {}
    const isOwn = (by: string | undefined) => by !== undefined && ledger?.has(by)
    const hold = ops.every((op) =>
      history.changesOf(op, op.unchangedSince ?? Number.POSITIVE_INFINITY).every(isOwn),
    )
    if (hold && this.histories.length === 1 && !this.#log.trimmed) {
      this.faults.push(`${id} is in conflict with nobody else`)
    }
  }
}
