import type { Environment, WebSocketConstructor } from 'instep'
import { Store } from './store.ts'

/**
 * The cable between one client and the server. A client gets `fetch`, `WebSocket` and `lifecycle` from its
 * `environment`. Here, they all use a cable that can be cut. The cable stays cut when the page is reloaded.
 */
export class Cable {
  readonly isCut: Store<boolean>
  readonly environment: Partial<Environment>
  readonly #key: string
  /** Aborts current requests and sockets when the cable is cut. */
  #underWay = new AbortController()

  constructor(name: string) {
    this.#key = `cable:${name}`
    this.isCut = new Store(sessionStorage.getItem(this.#key) === 'cut')
    this.environment = {
      fetch: this.fetch,
      WebSocket: this.#createSocketClass(),
      lifecycle: this.#createLifecycle(),
    }
  }

  cut(): void {
    sessionStorage.setItem(this.#key, 'cut')
    this.isCut.set(true)
    this.#underWay.abort()
  }

  mend(): void {
    sessionStorage.removeItem(this.#key)
    this.#underWay = new AbortController()
    this.isCut.set(false)
  }

  readonly fetch = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const uncut = this.#signal()
    const signal = init.signal ? AbortSignal.any([uncut, init.signal]) : uncut
    return fetch(url, { ...init, signal })
  }

  #createSocketClass(): WebSocketConstructor {
    const signal = () => this.#signal()
    return class extends WebSocket {
      constructor(url: string) {
        const uncut = signal()
        super(url)
        uncut.addEventListener('abort', () => this.close())
      }
    }
  }

  #createLifecycle(): Environment['lifecycle'] {
    const online = () => navigator.onLine && !this.isCut.get()
    return {
      online,
      visible: () => document.visibilityState !== 'hidden',
      subscribe: (listener) => {
        const ended = new AbortController()
        const { signal } = ended
        const network = () => listener(online() ? 'online' : 'offline')
        const visibility = () => listener(document.visibilityState)
        signal.addEventListener('abort', this.isCut.subscribe(network))
        window.addEventListener('online', network, { signal })
        window.addEventListener('offline', network, { signal })
        document.addEventListener('visibilitychange', visibility, { signal })
        return () => ended.abort()
      },
    }
  }

  /** Returns a signal that aborts when the cable is cut. Throws a TypeError if the cable is cut already. */
  #signal(): AbortSignal {
    if (this.isCut.get()) throw new TypeError('The cable is cut.')
    return this.#underWay.signal
  }
}
