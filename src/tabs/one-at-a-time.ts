import { Deferred } from '../base/deferred.ts'
import type { Clock } from '../base/environment.ts'
import type { LeaderLock } from './leadership.ts'

/** The maximum wait for another client, in ms: its page may be frozen. */
const maxMs = 10_000

/**
 * Runs `body`. If another client that shares the lock is running its own `body`, waits until that has ended instead, 10
 * s at most. Resolves with whether `body` has run here; rejects as `body` does.
 */
export async function oneAtATime(
  { locks, name }: LeaderLock,
  clock: Clock,
  body: () => Promise<void>,
): Promise<boolean> {
  let running: Promise<void> | undefined
  let isTaken = false
  let isLate = false
  const answered = new Deferred<void>()
  const cancelWait = clock.after(maxMs, () => {
    isLate = true
    answered.resolve()
  })
  const ask = async () =>
    locks.request(name, { ifAvailable: true }, async (lock) => {
      cancelWait()
      if (isLate) return
      isTaken = !lock
      running = lock ? body() : undefined
      await running
    })
  // `body` has failed, another client has taken the lock meanwhile, or the browser has no locks for this page.
  ask()
    .catch(() => {})
    .then(() => answered.resolve())
  await answered.promise
  cancelWait()
  if (!isTaken) {
    await (running ?? body())
    return true
  }
  const controller = new AbortController()
  const cancel = clock.after(maxMs, () => controller.abort())
  const release = async () => {}
  await locks
    .request(name, { signal: controller.signal }, release)
    .catch(() => locks.request(name, { steal: true }, release))
    .catch(() => {})
  cancel()
  return false
}
