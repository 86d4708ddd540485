import { resolveEnvironment } from '../base/environment.default.ts'

// Taken here, so that a test's fake timers do not stop it.
const immediately = globalThis.setImmediate

/** Resolves in a later turn of the event loop. */
export function turn(): Promise<void> {
  if (!immediately) return resolveEnvironment().clock.pause()
  return new Promise((resolve) => {
    immediately(resolve)
  })
}

/**
 * Lets everything that waits for no timer happen: promise jobs, streams, and in Node whatever takes turns of the event
 * loop by `setImmediate`, as an IndexedDB in memory does. What runs on other threads (zlib, WebCrypto, a browser's own
 * IndexedDB) is not waited for.
 */
export function settle(): Promise<void> {
  // One at a time: each takes turns itself, and two would wait for each other.
  settling ??= quiet().finally(() => {
    settling = undefined
  })
  return settling
}

let settling: Promise<void> | undefined

async function quiet(): Promise<void> {
  for (let turns = 0; turns < 2; ) {
    await turn()
    turns = immediatesWait() ? 0 : turns + 1
  }
}

function immediatesWait(): boolean {
  return globalThis.process?.getActiveResourcesInfo?.().includes('Immediate') ?? false
}
