import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plain, type State, snapshotOf } from '../support/store-state.ts'
import { engineNames, launchEngine } from './engine.ts'
import { makeProfile } from './in-browser.ts'
import { firstState, killPoints } from './kill-points.ts'
import { type Message, type PageServer, servePage } from './page-server.ts'

const rounds = 3

/** A state as a page told it. */
function stateOf({ value }: Message): State {
  const { sid, epoch, rows } = value as ReturnType<typeof plain> & object
  return snapshotOf(sid, rows, epoch)
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
  async function killAt(point: string): Promise<State> {
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

  async function look(): Promise<State> {
    const engine = await launchEngine(engineName, profile.profile)
    try {
      await engine.open(server.url)
      return stateOf(await server.next('found'))
    } finally {
      await engine.close()
    }
  }

  test(`invariant 1, invariant 9, invariant 61: killed ${rounds} times at each of ${killPoints.length} moments, it finds the whole old state or the whole new one`, async () => {
    let expected: readonly State[] = [firstState]
    let last = 'the beginning'
    const check = (found: State) => {
      const match = expected.find((state) => JSON.stringify(plain(state)) === JSON.stringify(plain(found)))
      expect(match, `after ${last}: sid ${found.sid}, epoch ${found.epoch}`).toBeDefined()
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const point of killPoints) {
        const state = await killAt(point.name)
        check(state)
        const next = point.next(state)
        expected = { old: [state], new: [next], either: [state, next] }[point.found]
        last = point.name
      }
    }
    check(await look())
  }, 120_000)
})
