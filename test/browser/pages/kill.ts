import { resolveWorld } from '../../../src/base/world.default.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { indexedDbStore } from '../../../src/storage/indexeddb.ts'
import type { StoreTransaction } from '../../../src/storage/store.ts'
import { plain, restoreState, storeSnapshot } from '../../support/store-state.ts'
import { type Step, withSteps } from '../../support/store-steps.ts'
import { tell, tellFailures } from '../in-page.ts'
import { firstState, killPoints } from '../kill-points.ts'
import { watchForDrops } from '../watch-drops.ts'

const { clock } = resolveWorld()
const params = new URLSearchParams(location.search)
const name = 'kill'

/** Tells what is stored; then makes the change of a kill point, if the address names one, and stalls at its moment. */
async function run(pointName: string | null): Promise<void> {
  const before: Step[] = []
  let isAt = (_: Step): boolean => false
  const notice = (step: Step): Promise<void> | undefined => {
    const stalls = isAt(step)
    before.push(step)
    if (!stalls) return undefined
    void tell({ type: 'here' })
    return stall(step.name === 'end' ? step.tx : undefined)
  }
  const store = withSteps(indexedDbStore(), { awaited: notice, immediate: (step) => void before.push(step) })
  const dropped = watchForDrops(params.has('stored'))
  const database = await openDatabase({ store, name, clock })
  const found = await restoreState(database)
  await tell({ type: 'found', value: plain(found), error: dropped() })
  const state = found ?? firstState
  const point = killPoints.find((one) => one.name === pointName)
  if (!point) return
  if (state === firstState) await storeSnapshot(database, firstState)
  before.length = 0
  isAt = (step) => point.isAt(step, before)
  await point.change(database, state)
}

/** Never ends. A transaction is kept from completing by reads. */
async function stall(tx: StoreTransaction | undefined): Promise<void> {
  while (tx) await tx.get('meta', 'fence')
  await new Promise(() => {})
}

tellFailures()
await run(params.get('point'))
