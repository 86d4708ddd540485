import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { plain, type State, snapshotOf } from '../support/store-state.ts'
import { engineNames, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { firstState, type KillPoint, killPoints } from './kill-points.ts'
import { type Message, type PageServer, servePage } from './page-server.ts'

/** One browser has as many databases, each of which begins at another moment: in three rounds they come to all of them. */
const beginnings = [0, 2, 5]
const maxRounds = 3

/** So often the engine itself may drop all that was stored. */
const maxDrops = 2

interface Found {
  /** `undefined` where nothing is stored. */
  readonly state: State | undefined
  /** Why the engine dropped what was stored, if it did. */
  readonly dropped: string | undefined
}

interface Told extends Pick<Found, 'dropped'> {
  readonly found: ReturnType<typeof plain>
}

function foundIn({ value }: Message): readonly Found[] {
  return (value as readonly Told[]).map(({ found, dropped }) => ({
    state: found && snapshotOf(found.sid, found.rows, found.epoch),
    dropped,
  }))
}

function describeState(state: State | undefined): string {
  return state ? `sid ${state.sid}, epoch ${state.epoch}, ${state.rows.size} rows` : 'nothing'
}

/** One database, and what must be found in it. */
class Killed {
  #expected: readonly (State | undefined)[] = [undefined]
  #last = 'the beginning'

  /** Checks what was found when the browser had started again, which then was killed at `point`. */
  check(found: Found | undefined, point?: KillPoint): void {
    if (!found) throw new Error('The page told of fewer databases than it has.')
    const { state = firstState, dropped } = found
    const expected = dropped === undefined ? this.#expected : [undefined]
    const text = JSON.stringify(plain(found.state))
    const matches = expected.some((one) => JSON.stringify(plain(one)) === text)
    const told = `after ${this.#last}: found ${describeState(found.state)}, not ${expected.map(describeState).join(' or ')}`
    expect(matches, told).toBe(true)
    if (!point) return
    const next = point.next(state)
    this.#expected = { old: [state], new: [next], either: [state, next] }[point.found]
    this.#last = point.name
  }
}

describe.each(engineNames)('in %s', (engineName) => {
  let server: PageServer
  let profile: Awaited<ReturnType<typeof makeProfile>>
  let isStored: boolean

  beforeAll(async () => {
    server = await servePage(new URL('./pages/kill.ts', import.meta.url))
  })
  beforeEach(async () => {
    profile = await makeProfile()
    isStored = false
  })
  afterEach(() => profile.remove())
  afterAll(() => server.close())

  /**
   * Starts a browser with a database for each of `points`, and gives what was found in them. One after another comes to
   * its moment, if it has one; when the last has, the browser is killed.
   */
  async function killAt(points: readonly (KillPoint | undefined)[]): Promise<readonly Found[]> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      const names = points.map((point) => ['point', point?.name ?? ''])
      if (isStored) names.push(['stored', ''])
      await engine.open(`${server.url}?${new URLSearchParams(names)}`)
      const found = foundIn(await server.next('found'))
      await server.next('here')
      return found
    } finally {
      await engine.kill()
      isStored = true
    }
  }

  test(`invariant 1, invariant 9, invariant 61: killed at each of ${killPoints.length} moments, it finds the whole old state or the whole new one`, async () => {
    const databases = beginnings.map(() => new Killed())
    const rounds = killPoints
      .slice(0, maxRounds)
      .map((_, round) => beginnings.map((first) => killPoints[(first + round) % killPoints.length]))
    let drops = 0
    for (const points of [...rounds, beginnings.map(() => undefined)]) {
      const found = await killAt(points)
      if (found.some(({ dropped }) => dropped !== undefined)) drops += 1
      for (const [n, database] of databases.entries()) database.check(found[n], points[n])
    }
    expect(drops, 'how often the engine itself dropped all').toBeLessThanOrEqual(maxDrops)
  }, 240_000)

  if (engineName !== 'firefox') return

  test('a database of which it cannot read the beginning, it drops, and tells that by making it anew', async () => {
    await killAt(killPoints.filter(({ name }) => name === 'after the switch'))
    const folder = join(profile.profile, 'storage/default')
    const files = (await readdir(folder, { recursive: true })).filter((path) => /\.sqlite(-wal)?$/.test(path))
    for (const path of files) await writeFile(join(folder, path), 'x'.repeat(100))
    const dropped = 'it made the database anew, and gave no reason'
    expect(await killAt([undefined])).toEqual([{ state: undefined, dropped }])
  }, 60_000)
})
