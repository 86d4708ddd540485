import { resolveEnvironment } from '../../src/base/environment.default.ts'
import type { Payload } from '../../src/index.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import {
  createSyncService,
  MemoryLog,
  type RunningServer,
  type SyncService,
  serve,
} from '../../src/server/index.ts'
import { seededRandom } from '../../src/testing/virtual-random.ts'

/** A service on a real network, which can be away, and can leave transactions unanswered that it has committed. */
export class Service {
  readonly log = new MemoryLog({ clock: resolveEnvironment().clock, random: seededRandom(1) })
  committed: Promise<void> | undefined
  readonly #service: SyncService
  #served: RunningServer | undefined
  #url = 'http://127.0.0.1:0'
  #tellCommitted: (() => void) | undefined

  constructor() {
    const service = createSyncService({
      database: this.log,
      authenticate: async () => ({ userId: 'ada' }),
      ownerField: 'userId',
    })
    this.#service = {
      ...service,
      fetch: async (request) => {
        const response = await service.fetch(request)
        if (!this.#tellCommitted || !request.url.endsWith('/tx') || request.method !== 'POST') return response
        this.#tellCommitted()
        return new Promise(() => {})
      },
    }
  }

  get url(): string {
    return this.#url
  }

  async up(): Promise<void> {
    this.#tellCommitted = undefined
    this.#served = await serve(this.#service, { port: Number(new URL(this.#url).port), graceMs: 0 })
    this.#url = this.#served.url
  }

  async down(): Promise<void> {
    await this.#served?.close()
  }

  /** From now on it answers no transaction any more. */
  fallSilent(): void {
    this.committed = new Promise((resolve) => {
      this.#tellCommitted = resolve
    })
  }

  /** Writes as somebody else, whether the service can be reached or not. */
  async write(...ops: readonly TxOp[]): Promise<void> {
    await this.#service.write(ops)
  }

  /** The fields of the record `id`; `undefined` if there is no such record. */
  async fields(id: string): Promise<Payload | undefined> {
    const headers = { Authorization: 'Bearer ada' }
    const response = await this.#service.fetch(new Request(`${this.#url}/bootstrap`, { headers }))
    const { rows } = (await response.json()) as { readonly rows: readonly WireRow[] }
    return rows.find((row) => row.id === id)?.p
  }

  /** How many changes each transaction has made. */
  async changes(): Promise<ReadonlyMap<string, number>> {
    const changes = new Map<string, number>()
    for (let after = 0; ; ) {
      const part = (await this.log.changes(after, 1_000)).changes
      for (const { sid, frame } of part) {
        const { tx } = JSON.parse(frame)
        changes.set(tx, (changes.get(tx) ?? 0) + 1)
        after = sid
      }
      if (part.length === 0) return changes
    }
  }
}
