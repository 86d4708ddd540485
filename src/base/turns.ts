import type { Clock } from './environment.ts'

/** Returns a function to await between the steps of long work. It lets other tasks run if they have waited for `ms`. */
export function yieldAfter(clock: Clock, ms: number): () => Promise<void> {
  let began = clock.now()
  return async () => {
    if (clock.now() - began < ms) return
    await clock.pause()
    began = clock.now()
  }
}
