import type { Clock } from '../../src/base/environment.ts'
import type { Store } from '../../src/storage/store.ts'
import { withSteps } from './store-steps.ts'

/** `store`, whose transactions each begin and end with a wait of `ms`. */
export function slowStore(store: Store, clock: Clock, ms: number): Store {
  const wait = () => new Promise<void>((resolve) => void clock.after(ms, resolve))
  return withSteps(store, {
    awaited: ({ name }) => (ms > 0 && (name === 'begin' || name === 'complete') ? wait() : undefined),
    immediate() {},
  })
}
