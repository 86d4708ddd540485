import type { Environment, Lifecycle } from './environment.ts'

/** The longest delay, in ms. */
const maxMs = 4_000

/**
 * Returns the lifecycle of `environment` with a random delay of the event `online`: the network may be back for many
 * clients at once. The event `visible` is not delayed, since the user is then looking at the page.
 */
export function spreadOnline({
  lifecycle,
  clock,
  random,
}: Pick<Environment, 'lifecycle' | 'clock' | 'random'>): Lifecycle {
  return {
    online: () => lifecycle.online(),
    visible: () => lifecycle.visible(),
    subscribe(listener) {
      let cancel = () => {}
      const unsubscribe = lifecycle.subscribe((event) => {
        if (event === 'online' || event === 'offline') cancel()
        if (event !== 'online') listener(event)
        else cancel = clock.after(random.number() * maxMs, () => listener(event))
      })
      return () => {
        unsubscribe()
        cancel()
      }
    },
  }
}
