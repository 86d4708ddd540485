import { describe, expect, test } from 'vitest'
import { engineNames, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { type PageServer, servePage } from './page-server.ts'
import { Service } from './service.ts'

const count = 30

/** So often a test is tried where the engine itself drops what was stored, and says so. */
const maxTries = 6

interface Found {
  readonly notes: readonly string[]
  readonly total: number
  readonly pending: readonly string[]
  /** Why the engine dropped all that was stored, if it did. */
  readonly dropped?: string
}

describe.each(engineNames)('in %s', (engineName) => {
  let page: PageServer
  let service: Service
  let profile: Awaited<ReturnType<typeof makeProfile>>

  /** Runs `scene` with all made anew, and again where the engine dropped what was stored, and said so. */
  async function show(scene: () => Promise<Found>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      page = await servePage(new URL('./pages/writes.ts', import.meta.url))
      profile = await makeProfile()
      service = new Service()
      await service.up()
      try {
        const { dropped } = await scene()
        if (dropped === undefined) return
        expect(tries, `how often the engine itself dropped all: ${dropped}`).toBeLessThan(maxTries)
      } finally {
        await service.down()
        await page.close()
        await profile.remove()
      }
    }
  }

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

  /**
   * Starts it once more, without a network at first: all is there to be seen, and then it arrives, once. Gives what was
   * there at first, which may be nothing only where the engine says that it dropped it.
   */
  async function expectAllToArrive(written: readonly string[]): Promise<Found> {
    return inBrowser({}, async () => {
      const found = await next<Found>('found')
      const expected = found.dropped === undefined ? count : 0
      expect({ notes: found.notes.length, total: found.total }).toEqual({ notes: expected, total: expected })
      if (found.dropped !== undefined) return found
      await service.up()
      const sent = await next<Found>('sent')
      expect({ ...sent, notes: sent.notes.length }).toEqual({ notes: count, total: count, pending: [] })
      const changes = await service.changes()
      expect(written.map((id) => changes.get(id))).toEqual(written.map(() => 2))
      expect(changes.size).toBe(count)
      return found
    })
  }

  test(
    'durable offline writes arrive once after the process was killed',
    () =>
      show(async () => {
        const written = await inBrowser({ write: 'offline', count }, async () => {
          await next('found')
          await next('live')
          await service.down()
          return next<readonly string[]>('durable')
        })
        expect(await service.changes()).toEqual(new Map())
        return expectAllToArrive(written)
      }),
    120_000,
  )

  test(
    'a write without a response arrives once after the process was killed',
    () =>
      show(async () => {
        service.fallSilent()
        const written = await inBrowser({ write: 'online', count }, async () => {
          await next('found')
          await next('live')
          await service.committed
          return next<readonly string[]>('durable')
        })
        await service.down()
        return expectAllToArrive(written)
      }),
    120_000,
  )
})
