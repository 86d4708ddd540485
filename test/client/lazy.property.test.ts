import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { type LiveQuery, model, type StandardSchema, type SyncClient } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import type { BareServerOptions } from '../support/bare-server.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { slowStore } from '../support/store-steps.ts'

const schema: StandardSchema<{ [field: string]: unknown }> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: Object(value) }) },
}
const types = ['Issue', 'Log', 'Project'] as const
type TypeName = (typeof types)[number]
const modelsOf = (load: 'eager' | 'lazy') => ({
  Issue: model(schema, { load, indexes: ['n'] }),
  Log: model(schema, { load }),
  Project: schema,
})

/** Enough of it makes a checkpoint due. */
const long = 'x'.repeat(200_000)

/** `inner`, with a journal that takes nothing while `isStuck`. */
function stuckable(inner: Store, isStuck: () => boolean): Store {
  return {
    ...inner,
    async open(name) {
      const connection = await inner.open(name)
      return {
        transaction(options, body) {
          const { mode, tables } = options
          const appends = mode === 'write' && tables.includes('journal') && !tables.includes('pages')
          if (appends && isStuck()) return Promise.reject(new StorageError('aborted', 'It is stuck.'))
          return connection.transaction(options, body)
        },
        close: () => connection.close(),
        onLost: (listener) => connection.onLost(listener),
      }
    },
  }
}

interface Used {
  readonly query: LiveQuery
  told: readonly unknown[]
  status: LiveQuery['status']
}

/** A client whose types are lazy and one whose types are not, each with a disk of its own, before the same server. */
class Pair {
  readonly device: Device
  readonly #stores: { readonly eager: Store; readonly lazy: Store }
  stuck = false
  eager: SyncClient
  lazy: SyncClient
  /** What is used of the lazy client since it began, and what a live query of it told last. */
  readonly #used = new Map<TypeName, Used>()
  #n = 0

  /** Each transaction of the disks begins and ends with a wait of `slowness` ms. */
  constructor(server: Pick<BareServerOptions, 'push' | 'snapshotTo'>, slowness: number) {
    this.device = new Device(server)
    const slow = (store: Store) => slowStore(store, this.device.clock, slowness)
    const lazy = stuckable(memoryStore(), () => this.stuck)
    this.#stores = { eager: slow(memoryStore()), lazy: slow(lazy) }
    for (const t of types) for (const id of ['1', '2', '3']) this.write('i', t, id)
    this.eager = this.#client('eager')
    this.lazy = this.#client('lazy')
  }

  #client(load: 'eager' | 'lazy'): SyncClient {
    return this.device.client({ store: this.#stores[load], models: modelsOf(load) })
  }

  async begin(): Promise<void> {
    this.#used.clear()
    this.eager = this.#client('eager')
    this.lazy = this.#client('lazy')
    await this.device.clock.until(Promise.all([this.eager.start(), this.lazy.start()]))
  }

  write(op: 'i' | 'u' | 'd', t: TypeName, id: string, p: { readonly [field: string]: unknown } = {}): void {
    this.#n += 1
    const written =
      op === 'd' ? { op, t, id } : { op, t, id, p: { n: this.#n, [`f${this.#n % 3}`]: 1, ...p } }
    const exists = this.device.server.data.rows('ada').some((row) => row.t === t && row.id === id)
    if (op === 'i' || exists) this.device.server.write('ada', [written])
  }

  use(t: TypeName): void {
    if (this.#used.has(t)) return
    const query = this.lazy.query(t, { orderBy: 'n' })
    const used: Used = { query, told: query.rows, status: query.status }
    this.#used.set(t, used)
    query.subscribe(({ rows, status }) => {
      used.told = rows
      // What is there once does not go away again.
      expect([used.status, status]).not.toEqual(['ready', 'pending'])
      used.status = status
    })
  }

  /** Each subscriber knows whether there is something. */
  compareStatus(): void {
    for (const { query, status } of this.#used.values()) expect(status).toBe(query.status)
  }

  /** What is used shows the same on both, in its records, in a query by an index and in what a subscriber heard. */
  compare(): void {
    for (const [t, { told }] of this.#used) {
      const query = this.lazy.query(t, { orderBy: 'n' })
      expect(query.status).toBe('ready')
      expect(shown(this.lazy, t)).toEqual(shown(this.eager, t))
      expect(query.rows).toEqual(this.eager.query(t, { orderBy: 'n' }).rows)
      expect(told).toEqual(query.rows)
    }
    expect(this.lazy.lastSyncId).toBe(this.eager.lastSyncId)
  }
}

const type = fc.constantFrom(...types)
const id = fc.constantFrom('1', '2', '3', '4')
type Step = (pair: Pair) => void | Promise<void>
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom('i' as const, 'u' as const, 'd' as const), type, id).map(
      ([op, t, of]): Step =>
        (pair) =>
          pair.write(op, t, of),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(type, id).map(
      ([t, of]): Step =>
        (pair) =>
          pair.write('i', t, of, { long }),
    ),
  },
  {
    weight: 3,
    arbitrary: type.map(
      (t): Step =>
        (pair) =>
          pair.use(t),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(0, 1, 5, 10, 20, 50, 500, 3_000, 31_000).map(
      (ms): Step =>
        (pair) =>
          pair.device.clock.advance(ms),
    ),
  },
  {
    weight: 1,
    // Both make a snapshot take the place of what they have.
    arbitrary: fc.constant<Step>((pair) => {
      pair.device.server.failNext(faults.gone(), { path: '/delta', times: 2 })
      for (const client of [pair.eager, pair.lazy]) client.sync().catch(() => {})
    }),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map(
      (stuck): Step =>
        (pair) => {
          pair.stuck = stuck
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constant<Step>(async (pair) => {
      await pair.device.quit()
      await pair.begin()
    }),
  },
)

/** What a server that has forgotten the changes makes a client tell. */
const expected = /^(reset gone|error HttpError)/

test('a client with lazy types, used at any moment, shows what one with eager types shows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        push: fc.constantFrom('frame' as const, 'none' as const),
        snapshotTo: fc.constantFrom('head' as const, 'rows' as const),
      }),
      fc.constantFrom(0, 7),
      fc.array(step, { minLength: 1, maxLength: 30 }),
      async (server, slowness, steps) => {
        const pair = new Pair(server, slowness)
        await pair.begin()
        for (const take of steps) {
          await take(pair)
          pair.compareStatus()
        }
        pair.device.server.heal()
        await pair.device.clock.advance(130_000)
        pair.compare()
        for (const t of types) pair.use(t)
        await pair.device.clock.advance(500)
        pair.compare()
        expect(pair.device.log.filter((line) => !expected.test(line))).toEqual([])
        await pair.device.quit()
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 50) },
  )
}, 120_000)
