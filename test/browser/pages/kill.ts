import { resolveEnvironment } from '../../../src/base/environment.default.ts'
import { indexedDbStore } from '../../../src/storage/indexeddb.ts'
import type { StoreTransaction } from '../../../src/storage/store.ts'
import { openDatabase } from '../../support/database.ts'
import { plain, restoreState, storeSnapshot } from '../../support/store-state.ts'
import { type Step, withSteps } from '../../support/store-steps.ts'
import { tell, tellFailures } from '../in-page.ts'
import { firstState, type KillPoint, killPoints } from '../kill-points.ts'
import { watchForDrops } from '../watch-drops.ts'

const { clock } = resolveEnvironment()
const params = new URLSearchParams(location.search)
const drops = watchForDrops(params.has('stored'))

/** One of the databases, which can be brought to the moment of a kill point. */
async function openKilled(name: string) {
  const before: Step[] = []
  let isAt = (_: Step): boolean => false
  let tellHere = () => {}
  const notice = (step: Step): Promise<void> | undefined => {
    const stalls = isAt(step)
    before.push(step)
    if (!stalls) return undefined
    tellHere()
    return stall(step.name === 'end' ? step.tx : undefined)
  }
  const store = withSteps(indexedDbStore(), { awaited: notice, immediate: (step) => void before.push(step) })
  const database = await openDatabase({ store, name, clock })
  const found = await restoreState(database)
  return {
    told: { found: plain(found), dropped: drops.get(name) },
    /** Makes the change of `point`, and stalls at its moment. */
    async bringTo(point: KillPoint): Promise<void> {
      if (!found) await storeSnapshot(database, firstState)
      before.length = 0
      isAt = (step) => point.isAt(step, before)
      await new Promise<void>((here, failed) => {
        tellHere = here
        point.change(database, found ?? firstState).catch(failed)
      })
    },
  }
}

/** Never ends. A transaction is kept from completing by reads. */
async function stall(tx: StoreTransaction | undefined): Promise<void> {
  while (tx) await tx.get('meta', 'fence')
  await new Promise(() => {})
}

tellFailures()
const points = params.getAll('point')
const databases = await Promise.all(points.map((_, n) => openKilled(`kill ${n}`)))
await tell({ type: 'found', value: databases.map(({ told }) => told) })
for (const [n, database] of databases.entries()) {
  const point = killPoints.find(({ name }) => name === points[n])
  if (point) await database.bringTo(point)
}
await tell({ type: 'here' })
