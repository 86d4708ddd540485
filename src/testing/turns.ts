import { resolveEnvironment } from '../base/environment.default.ts'

// Read at load time, so that fake timers of a test do not replace it.
const immediately = globalThis.setImmediate

/** Resolves in a later turn of the event loop. */
export function turn(): Promise<void> {
  if (!immediately) return resolveEnvironment().clock.pause()
  return new Promise((resolve) => {
    immediately(resolve)
  })
}

/**
 * Waits until all work is done that does not depend on a timer: promise jobs, streams and, in Node, `setImmediate`,
 * which an in-memory IndexedDB uses. Does not wait for work on other threads (zlib, WebCrypto, the IndexedDB of a
 * browser).
 */
export function settle(): Promise<void> {
  // Share one wait: each wait uses `setImmediate` itself, so two waits would never end.
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
