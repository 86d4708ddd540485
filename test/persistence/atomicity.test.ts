import { describe, expect, test } from 'vitest'
import type { Database } from '../support/database.ts'
import { name, open, stores } from '../support/store-databases.ts'
import { type Fault, FaultyStore } from '../support/store-faults.ts'
import {
  appended,
  plain,
  restoreState,
  row,
  rowsNamed,
  type State,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'

const first = snapshotOf(10, rowsNamed('a', 'b', 'c', 'd', 'e'), 'x')
const delta = { since: 10, sid: 12, ops: [{ op: 'u', t: 'Issue', id: 'b', p: { n: 1 } }] } as const
const old = appended(first, delta)

const next = {
  since: 12,
  sid: 15,
  ops: [
    { op: 'i', t: 'Issue', id: 'f', p: { title: 'f' } },
    { op: 'd', t: 'Issue', id: 'a' },
  ],
  epoch: 'y',
} as const
const other = snapshotOf(20, [...rowsNamed('a', 'x', 'y'), row('1', {}, 'Project')], 'z')

/** What is done, and what is to be found once it is done. */
const changes: { readonly [what: string]: readonly [(database: Database) => Promise<unknown>, State] } = {
  'an append': [(database) => database.append(next), appended(old, next)],
  'a snapshot': [(database) => storeSnapshot(database, other), other],
  'a checkpoint': [(database) => database.checkpoint(), old],
}

/** Does `change` with a fault at one step, and restarts. `undefined` once there is no such step. */
async function strike(
  make: (typeof stores)[string],
  change: (database: Database) => Promise<unknown>,
  fault: Fault,
  at: number,
) {
  const store = make()
  const before = await open(store)
  await storeSnapshot(before, first)
  await before.append(delta)
  before.close()

  const faulty = new FaultyStore(store)
  const database = await open(faulty.store)
  faulty.arm(at, fault)
  const done = change(database).then(
    () => true,
    () => false,
  )
  const resolved = await Promise.race([done, faulty.crashed.then(() => false)])
  if (!faulty.struck) return undefined
  if (fault !== 'crash') database.close()
  const state = plain(await restoreState(await open(store)))
  await store.destroy(name)
  return { resolved, state }
}

describe.each(Object.entries(stores))('over %s', (_, make) => {
  for (const [what, [change, after]] of Object.entries(changes)) {
    test.each(['throw', 'abort', 'crash'] as const)(
      `invariant 1, invariant 36: ${what} with a %s at any step leaves rows and position both old or both new`,
      async (fault) => {
        const seen = new Set<string>()
        let at = 0
        for (; ; at += 1) {
          const outcome = await strike(make, change, fault, at)
          if (!outcome) break
          const { resolved, state } = outcome
          const isNew = JSON.stringify(state) === JSON.stringify(plain(after))
          if (!isNew) expect(state, `step ${at}`).toEqual(plain(old))
          if (resolved) expect(state, `step ${at}`).toEqual(plain(after))
          seen.add(isNew ? 'new' : 'old')
        }
        expect(at).toBeGreaterThan(5)
        expect([...seen].sort()).toEqual(after === old ? ['new'] : ['new', 'old'])
      },
    )
  }
})
