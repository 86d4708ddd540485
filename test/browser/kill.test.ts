import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { plain, type State, snapshotOf } from '../support/store-state.ts'
import { engineNames, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { firstState, killPoints } from './kill-points.ts'
import { type Message, type PageServer, servePage } from './page-server.ts'

const rounds = 3

interface Found {
  /** As a page told it; `undefined` where nothing is stored. */
  readonly state: State | undefined
  /** Why the engine dropped what was stored, if it did. */
  readonly dropped: string | undefined
}

function foundIn({ value, error }: Message): Found {
  if (value === undefined) return { state: undefined, dropped: error }
  const { sid, epoch, rows } = value as ReturnType<typeof plain> & object
  return { state: snapshotOf(sid, rows, epoch), dropped: error }
}

function describeState(state: State | undefined): string {
  return state ? `sid ${state.sid}, epoch ${state.epoch}, ${state.rows.size} rows` : 'nothing'
}

describe.each(engineNames)('in %s', (engineName) => {
  let server: PageServer
  let profile: Awaited<ReturnType<typeof makeProfile>>

  beforeAll(async () => {
    server = await servePage(new URL('./pages/kill.ts', import.meta.url))
  })
  beforeEach(async () => {
    profile = await makeProfile()
  })
  afterEach(() => profile.remove())
  afterAll(() => server.close())

  /** Starts a browser, lets it come to the moment `point`, and kills it there. Gives what it found at first. */
  async function killAt(point: string, isStored: boolean): Promise<Found> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(`${server.url}?${new URLSearchParams({ point, ...(isStored && { stored: '' }) })}`)
      const found = await server.next('found')
      await server.next('here')
      return foundIn(found)
    } finally {
      await engine.kill()
    }
  }

  async function look(): Promise<Found> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(`${server.url}?stored`)
      return foundIn(await server.next('found'))
    } finally {
      await engine.close()
    }
  }

  test(`invariant 1, invariant 9, invariant 61: killed ${rounds} times at each of ${killPoints.length} moments, it finds the whole old state or the whole new one`, async () => {
    let expected: readonly (State | undefined)[] = [undefined]
    let last = 'the beginning'
    let drops = 0
    const check = ({ state, dropped }: Found) => {
      if (dropped !== undefined) {
        drops += 1
        expected = [undefined]
      }
      const text = JSON.stringify(plain(state))
      const matches = expected.some((one) => JSON.stringify(plain(one)) === text)
      const told = `after ${last}: found ${describeState(state)}, not ${expected.map(describeState).join(' or ')}`
      expect(matches, told).toBe(true)
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const point of killPoints) {
        const found = await killAt(point.name, !expected.includes(undefined))
        check(found)
        const state = found.state ?? firstState
        const next = point.next(state)
        expected = { old: [state], new: [next], either: [state, next] }[point.found]
        last = `${point.name}, round ${round + 1}`
      }
    }
    check(await look())
    expect(drops, 'how often the engine itself dropped all').toBeLessThanOrEqual(rounds)
  }, 240_000)

  if (engineName !== 'firefox') return

  test('a database of which it cannot read the beginning, it drops, and tells that by making it anew', async () => {
    await killAt('after the switch', false)
    const folder = join(profile.profile, 'storage/default')
    const files = (await readdir(folder, { recursive: true })).filter((path) => /\.sqlite(-wal)?$/.test(path))
    for (const path of files) await writeFile(join(folder, path), 'x'.repeat(100))
    const dropped = 'it made the database anew, and gave no reason'
    expect(await look()).toEqual({ state: undefined, dropped })
  }, 60_000)
})
