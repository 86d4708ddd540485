import type { Clock, Environment, Locks } from '../../src/base/environment.ts'
import type { StoreConnection } from '../../src/storage/store.ts'

/** Lets nothing of a page go on while it stands still: what comes to it meanwhile waits. */
export class Standstill {
  /** Called in the middle of the next write transaction of the store. */
  onWrite: (() => void) | undefined
  #waiting: (() => void)[] | undefined
  #keepsOpen = false

  get isOn(): boolean {
    return this.#waiting !== undefined
  }

  /** `keepsOpen`: transactions of the store that it has open block other tabs, unless the page has aborted them. */
  begin(keepsOpen: boolean): void {
    this.#waiting ??= []
    this.#keepsOpen = keepsOpen
  }

  end(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    this.#keepsOpen = false
    for (const body of waiting) body()
  }

  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      pause: () => clock.pause(),
      after: (ms, callback) => {
        let isCancelled = false
        const cancel = clock.after(ms, () => this.#run(() => isCancelled || callback()))
        return () => {
          isCancelled = true
          cancel()
        }
      },
    }
  }

  fetch(fetch: Environment['fetch']): Environment['fetch'] {
    return (url, init) => this.#late(() => fetch(url, init))
  }

  /** What the page holds, it keeps; what it is granted, it holds unawares. */
  locks({ request }: Locks): Locks {
    return {
      request: (name, options, body) =>
        this.#late(() =>
          request(name, options, async (lock) => {
            await this.#over()
            await body(lock)
          }),
        ),
    }
  }

  store(connection: StoreConnection): StoreConnection {
    return {
      ...connection,
      transaction: (options, body) =>
        this.#late(() =>
          connection.transaction(options, async (tx) => {
            const result = await body(tx)
            if (options.mode === 'write') this.onWrite?.()
            if (this.#keepsOpen) await this.#over()
            return result
          }),
        ),
    }
  }

  /** A socket or a channel whose events the page does not hear. */
  // biome-ignore lint/suspicious/noExplicitAny: whatever its constructor takes
  events<C extends new (...args: any[]) => object>(Source: C): C {
    return new Proxy(Source, { construct: (target, args) => this.#heard(Reflect.construct(target, args)) })
  }

  #heard(source: object): object {
    return new Proxy(source, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
      set: (target, name, value) => {
        const handler = (event: unknown) =>
          this.#run(() => Reflect.get(target, name) === handler && value(event))
        return Reflect.set(target, name, value && handler)
      },
    })
  }

  async #late<T>(body: () => Promise<T>): Promise<T> {
    await this.#over()
    return body().finally(() => this.#over())
  }

  async #over(): Promise<void> {
    if (this.isOn) await new Promise<void>((resolve) => this.#run(resolve))
  }

  #run(body: () => void): void {
    if (this.#waiting) this.#waiting.push(body)
    else body()
  }
}
