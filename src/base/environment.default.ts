import { fallbackWebSocket } from '#websocket'
import type { Clock, Environment, Lifecycle, LocalStorageLike, Random } from './environment.ts'
import { type Logger, levels, loggerOf } from './logger.ts'

/** The maximum delay of a timer: a signed 32-bit number of ms (HTML standard, "timer initialization steps"). */
const maxTimerMs = 2 ** 31 - 1

const clock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    let left = ms
    let timer: ReturnType<typeof setTimeout> | undefined
    const arm = () => {
      const step = Math.min(left, maxTimerMs)
      left -= step
      timer = setTimeout(left > 0 ? arm : callback, step)
    }
    arm()
    return () => clearTimeout(timer)
  },
  pause() {
    // A message is a separate task. Unlike a nested timer, it is not delayed by 4 ms.
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => {
        port1.close()
        resolve()
      }
      port2.postMessage(null)
    })
  },
}

const random: Random = {
  number: () => Math.random(),
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
}

const lifecycle: Lifecycle = {
  // Only `false` is reliable: `true` may be a network without internet, and Node 20 has no navigator.
  online: () => globalThis.navigator?.onLine !== false,
  visible: () => globalThis.document?.visibilityState !== 'hidden',
  subscribe(listener) {
    const target = globalThis
    if (typeof target.addEventListener !== 'function') return () => {}
    const controller = new AbortController()
    for (const type of ['online', 'offline'] as const) {
      target.addEventListener(type, () => listener(type), controller)
    }
    const onResume = () => {
      // The page may have lost its sockets and not know it yet.
      listener('offline')
      listener('online')
      if (lifecycle.visible()) listener('visible')
    }
    target.addEventListener('pageshow', (event) => event.persisted && onResume(), controller)
    target.addEventListener('pagehide', (event) => event.persisted && listener('frozen'), controller)
    target.document?.addEventListener('freeze', () => listener('frozen'), controller)
    target.document?.addEventListener('resume', onResume, controller)
    const onVisibility = () => listener(lifecycle.visible() ? 'visible' : 'hidden')
    target.document?.addEventListener('visibilitychange', onVisibility, controller)
    return () => controller.abort()
  },
}

/** The page's `localStorage`; `undefined` outside a page, and if the browser blocks it. */
function localStorage(): LocalStorageLike | undefined {
  try {
    return globalThis.document && globalThis.localStorage
  } catch {
    return undefined
  }
}

/**
 * The environment with `overrides`; the other parts come from the globals at the time of the call. `sendsHeaders`:
 * prefer a WebSocket that can send headers, which the global one cannot.
 */
export function resolveEnvironment(overrides: Partial<Environment> = {}, sendsHeaders = false): Environment {
  const { WebSocket } = globalThis
  return {
    fetch: (url, init) => globalThis.fetch(url, init),
    WebSocket: sendsHeaders ? (fallbackWebSocket ?? WebSocket) : (WebSocket ?? fallbackWebSocket),
    clock,
    random,
    lifecycle,
    locks: globalThis.navigator?.locks,
    BroadcastChannel: globalThis.BroadcastChannel,
    storageManager: globalThis.navigator?.storage,
    localStorage: localStorage(),
    location: globalThis.location?.href,
    ...overrides,
  }
}

/**
 * A logger that writes messages of `level` and above to the console. The debug log can be switched on at run time:
 * `localStorage.instep = 'debug'` in a page, the environment variable `INSTEP_LOG=debug` in Node.
 */
export function consoleLogger(level: keyof Logger = 'warn'): Logger {
  return loggerOf((name) => (message, details) => {
    const isWanted = levels.indexOf(name) >= levels.indexOf(level) || isDebugOn()
    if (isWanted) console[name](`instep: ${message}`, details ?? '')
  })
}

function isDebugOn(): boolean {
  const { process, localStorage } = globalThis
  return (process?.env ? process.env.INSTEP_LOG : localStorage?.instep) === 'debug'
}
