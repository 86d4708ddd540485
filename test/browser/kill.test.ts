import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plain, type State, snapshotOf } from '../support/store-state.ts'
import { engineNames, launchEngine } from './engines.ts'
import { makeProfile } from './in-browser.ts'
import { firstState, killPoints } from './kill-points.ts'
import { type Message, type PageServer, servePage } from './page-server.ts'

const rounds = 3

/** A state as a page told it; `undefined` where nothing was stored. */
function stateOf({ value }: Message): State | undefined {
  if (value === undefined) return undefined
  const { sid, epoch, rows } = value as ReturnType<typeof plain> & object
  return snapshotOf(sid, rows, epoch)
}

function describeState(state: State | undefined): string {
  return state ? `sid ${state.sid}, epoch ${state.epoch}, ${state.rows.size} rows` : 'nothing'
}

describe.each(engineNames)('in %s', (engineName) => {
  let server: PageServer
  let profile: Awaited<ReturnType<typeof makeProfile>>

  beforeAll(async () => {
    server = await servePage(new URL('./pages/kill.ts', import.meta.url))
    profile = await makeProfile()
  })
  afterAll(async () => {
    await server.close()
    await profile.remove()
  })

  /** Starts a browser, lets it come to the moment `point`, and kills it there. Gives what it found at first. */
  async function killAt(point: string): Promise<State | undefined> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(`${server.url}?point=${encodeURIComponent(point)}`)
      const found = await server.next('found')
      await server.next('here')
      return stateOf(found)
    } finally {
      await engine.kill()
    }
  }

  async function look(): Promise<State | undefined> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(server.url)
      return stateOf(await server.next('found'))
    } finally {
      await engine.close()
    }
  }

  test(`invariant 1, invariant 9, invariant 61: killed ${rounds} times at each of ${killPoints.length} moments, it finds the whole old state or the whole new one`, async () => {
    // Until it has closed once, Chromium itself may forget a site that it came to know a moment before the kill.
    expect(await look()).toBeUndefined()
    let expected: readonly (State | undefined)[] = [undefined]
    let last = 'the beginning'
    const check = (found: State | undefined) => {
      const text = JSON.stringify(plain(found))
      const matches = expected.some((state) => JSON.stringify(plain(state)) === text)
      const told = `after ${last}: found ${describeState(found)}, not ${expected.map(describeState).join(' or ')}`
      expect(matches, told).toBe(true)
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const point of killPoints) {
        const found = await killAt(point.name)
        check(found)
        const state = found ?? firstState
        const next = point.next(state)
        expected = { old: [state], new: [next], either: [state, next] }[point.found]
        last = `${point.name}, round ${round + 1}`
      }
    }
    check(await look())
  }, 120_000)
})
