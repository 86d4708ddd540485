import type { Environment, Lifecycle } from './environment.ts'

/** The longest delay, in ms. */
const maxMs = 4_000

/**
 * The lifecycle of `environment`, which reports a network that is back after a random delay: it may be back for many
 * clients at once. The event `visible` is not delayed, since somebody looks at the page then.
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
