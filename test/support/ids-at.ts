import { createIds } from '../../src/base/ids.ts'
import { seededRandom } from './virtual.ts'

let seed = 0

/** A new UUID of version 7 that was made at `at`, in ms since the epoch. */
export function idAt(at: number): string {
  seed += 1
  return createIds({ now: () => at }, seededRandom(seed)).next()
}
