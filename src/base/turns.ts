import type { Clock } from './environment.ts'

/** Gives what to await between two steps of long work: it lets other tasks in once they have waited for `ms`. */
export function yieldAfter(clock: Clock, ms: number): () => Promise<void> {
  let began = clock.now()
  return async () => {
    if (clock.now() - began < ms) return
    await clock.pause()
    began = clock.now()
  }
}
