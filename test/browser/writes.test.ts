import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resolveWorld } from '../../src/base/world.default.ts'
import { createSyncService, MemoryLog, type Served, type SyncService, serve } from '../../src/server/index.ts'
import { seededRandom } from '../../src/testing/virtual-random.ts'
import { engineNames, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { type PageServer, servePage } from './page-server.ts'

const count = 30

/**
 * Chromium that is killed in the middle of its own log write may drop the whole database, and say so at its next start:
 * nothing that a page can do prevents it, so what is shown here is shown by another try.
 */
const onceMore = { timeout: 60_000, retry: 3 }

interface Found {
  readonly notes: readonly string[]
  readonly total: number
  readonly pending: readonly string[]
}

/** A service on a real network, which can be away, and can leave transactions unanswered that it has committed. */
class Service {
  readonly log = new MemoryLog({ clock: resolveWorld().clock, random: seededRandom(1) })
  committed: Promise<void> | undefined
  readonly #service: SyncService
  #served: Served | undefined
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

  /** How many changes each transaction has made. */
  async changes(): Promise<ReadonlyMap<string, number>> {
    const changes = new Map<string, number>()
    const { batches } = await this.log.delta('ada', 0)
    for await (const batch of batches) {
      for (const { tx } of JSON.parse(`[${batch}]`)) changes.set(tx, (changes.get(tx) ?? 0) + 1)
    }
    return changes
  }
}

describe.each(engineNames)('in %s', (engineName) => {
  let page: PageServer
  let service: Service
  let profile: Awaited<ReturnType<typeof makeProfile>>

  beforeEach(async () => {
    page = await servePage(new URL('./pages/writes.ts', import.meta.url))
    profile = await makeProfile()
    service = new Service()
    await service.up()
  })
  afterEach(async () => {
    await service.down()
    await page.close()
    await profile.remove()
  })

  /** Starts the browser on the profile, with the page as `params` say, for as long as `during` takes; then kills it. */
  async function inBrowser<T>(params: object, during: () => Promise<T>): Promise<T> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(`${page.url}?${new URLSearchParams({ service: service.url, ...params })}`)
      return await during()
    } finally {
      await engine.kill()
    }
  }

  const next = async <T>(type: string) => (await page.next(type)).value as T

  /** Starts it once more, without a network at first: all is there to be seen, and then it arrives, once. */
  async function expectAllToArrive(written: readonly string[], total: number): Promise<void> {
    const sent = await inBrowser({}, async () => {
      const found = await next<Found>('found')
      expect({ notes: found.notes.length, total: found.total }).toEqual({ notes: total, total })
      await service.up()
      return next<Found>('sent')
    })
    expect({ ...sent, notes: sent.notes.length }).toEqual({ notes: total, total, pending: [] })
    const changes = await service.changes()
    expect(written.map((id) => changes.get(id))).toEqual(written.map(() => 2))
    expect(changes.size).toBe(total)
  }

  test(
    'what was written offline, and told to be durable, arrives once when the process was killed',
    onceMore,
    async () => {
      const written = await inBrowser({ write: 'offline', count }, async () => {
        await next('found')
        await next('live')
        await service.down()
        return next<readonly string[]>('durable')
      })
      expect(await service.changes()).toEqual(new Map())
      await expectAllToArrive(written, count)
    },
  )

  test(
    'what was committed, and never answered before the process was killed, arrives once',
    onceMore,
    async () => {
      const written = await inBrowser({ write: 'online', count }, async () => {
        await next('found')
        service.fallSilent()
        await next('live')
        await service.committed
        return next<readonly string[]>('durable')
      })
      await service.down()
      await expectAllToArrive(written, count)
    },
  )
})
