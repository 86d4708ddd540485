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
    const { document } = target
    const onFreeze = () => listener('frozen')
    let isLeaving = false
    const onHide = ({ persisted }: PageTransitionEvent) => {
      isLeaving = persisted
      if (!isLeaving) return
      // When the user leaves a page, it becomes hidden next, and the application may still write then: freeze after its
      // listeners.
      const onHidden = () => isLeaving && onFreeze()
      if (document && lifecycle.visible()) {
        document.addEventListener('visibilitychange', onHidden, { once: true, signal: controller.signal })
      } else onFreeze()
    }
    const onShow = ({ persisted }: PageTransitionEvent) => {
      isLeaving = false
      if (persisted) listener('resumed')
    }
    target.addEventListener('pagehide', onHide, controller)
    target.addEventListener('pageshow', onShow, controller)
    document?.addEventListener('freeze', onFreeze, controller)
    document?.addEventListener('resume', () => listener('resumed'), controller)
    const onVisibility = () => listener(lifecycle.visible() ? 'visible' : 'hidden')
    document?.addEventListener('visibilitychange', onVisibility, controller)
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
 * `localStorage.instep = 'debug'` in a page (browsers show it at the level "verbose"), the environment variable
 * `INSTEP_LOG=debug` in Node. It has a line for each event with the state that follows, each request, store transaction,
 * push, delta, snapshot and state of a transaction, without records and tokens.
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
