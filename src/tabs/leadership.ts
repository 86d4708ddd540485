import type { Environment, LifecycleEvent, Locks } from '../base/environment.ts'
import type { Disk } from '../persistence/disk.ts'

/** The locks that all clients of one database share, and the name of the lock that the leader holds. */
export interface LeaderLock {
  readonly locks: Locks
  readonly name: string
}

/** The time after which a lock manager that does not answer counts as missing, in ms. */
const answerMs = 5_000

export interface LeadershipOptions {
  readonly environment: Pick<Environment, 'lifecycle' | 'clock'>
  /** `undefined` without shared locks: the client that opened the database last then leads. */
  readonly lock: LeaderLock | undefined
  readonly disk: Disk
}

/**
 * Decides which of the clients of one database leads: the tab that the user looked at last. The leader holds a lock, so
 * that another client leads as soon as the leader is closed. A frozen page keeps its lock but cannot answer, so a
 * visible tab steals the lock. The lock does not keep a former leader from writing; the fence of the database does.
 */
export class Leadership {
  readonly #options: LeadershipOptions
  /** Ends the current request for the lock, and releases the lock if it is held. */
  #end = () => {}
  #isHeld = false
  #hasBegun = false
  #isClosed = false
  #isOutdated = false
  /** Whether the browser refuses locks to this page, or does not answer: as without locks. */
  #isRefused = false

  constructor(options: LeadershipOptions) {
    this.#options = options
  }

  /**
   * Whether newer code in another tab leads. Always `false` without locks, since this tab would not learn that the
   * newer tab is gone.
   */
  get isOutdated(): boolean {
    return this.#isOutdated && this.#lock !== undefined
  }

  get #lock(): LeaderLock | undefined {
    return this.#isRefused ? undefined : this.#options.lock
  }

  /** Leaves the lead to newer code in another tab. Returns `false` if this was called before. */
  outdated(): boolean {
    if (this.#isOutdated) return false
    this.#isOutdated = true
    if (!this.isOutdated) return true
    this.#options.disk.follow()
    this.#wait()
    return true
  }

  /** Decides whether this client leads at first. Call before the database is opened. */
  async begin(): Promise<void> {
    const { environment, disk } = this.#options
    this.#hasBegun = true
    if (!this.#lock) return
    const isVisible = environment.lifecycle.visible()
    if (await this.#request(this.#lock, isVisible ? { steal: true } : { ifAvailable: true })) return
    if (!this.#lock) return
    disk.follow()
    this.#wait()
  }

  /** The client starts syncing, for the first time or again. */
  start(): void {
    if (!this.#hasBegun) return
    // Another tab may have led while this one was stopped.
    if (this.#lock) this.#options.disk.follow()
    this.onLifecycle('visible')
  }

  /** The client stops syncing: lets another client lead. If there is none, this client still stores its data. */
  stop(): void {
    this.#end()
  }

  onLifecycle(event: LifecycleEvent): void {
    const { disk } = this.#options
    if (event === 'frozen') {
      // A browser does not keep a page that holds a lock in the back/forward cache.
      this.#end()
      disk.follow()
    }
    if (event === 'visible' || event === 'resumed') this.lead()
  }

  /** Leads at once if the tab is visible; otherwise, once no other tab leads. */
  lead(): void {
    const { disk, environment } = this.#options
    const lock = this.#lock
    if (this.#isHeld) disk.lead()
    else if (!lock) {
      if (!disk.isOpen) return
      // Another tab may have taken the lead without a message: raise the fence again.
      disk.follow()
      disk.lead()
    } else if (environment.lifecycle.visible() && !this.#isOutdated)
      this.#leadOnce(this.#request(lock, { steal: true }).then((isHeld) => isHeld || this.#leadWithoutLock()))
    else this.#wait()
  }

  /**
   * Another tab has sent a message that it leads. If this tab still seems to hold the lock, it does not fight for it.
   */
  overtaken(): void {
    this.#options.disk.follow()
    if (!this.#isHeld) this.#wait()
  }

  /** Another client has raised the fence. */
  fenced(): void {
    this.#options.disk.follow()
    // Another client may already hold the lock: request it again.
    this.#wait()
  }

  close(): void {
    this.#isClosed = true
    this.#end()
  }

  /** Waits for the lock, and leads once it is free. */
  #wait(): void {
    const lock = this.#lock
    if (!lock) return
    const controller = new AbortController()
    this.#leadOnce(this.#request(lock, { signal: controller.signal }))
    const end = this.#end
    this.#end = () => {
      end()
      controller.abort()
    }
  }

  /** Leads if the browser has refused the lock. Returns `false`, since `lead` has then done all. */
  #leadWithoutLock(): false {
    if (!this.#lock) this.lead()
    return false
  }

  #leadOnce(held: Promise<boolean>): void {
    void held.then((isHeld) => isHeld && this.#options.disk.lead())
  }

  /** Resolves with whether this client holds the lock. */
  #request({ locks, name }: LeaderLock, options: Parameters<Locks['request']>[1]): Promise<boolean> {
    this.#end()
    let state: 'asked' | 'held' | 'over' = this.#isClosed ? 'over' : 'asked'
    return new Promise((resolve) => {
      const over = new Promise<void>((release) => {
        this.#end = () => {
          state = 'over'
          this.#isHeld = false
          resolve(false)
          release()
        }
      })
      if (state === 'over') return resolve(false)
      const refused = () => {
        if (state === 'asked') {
          state = 'over'
          this.#isRefused = true
        }
        resolve(false)
      }
      // Only a request that waits for other tabs may take long.
      const cancel = options.signal ? () => {} : this.#options.environment.clock.after(answerMs, refused)
      const ask = async () =>
        locks.request(name, options, async (lock) => {
          cancel()
          if (!lock || state === 'over') return resolve(false)
          state = 'held'
          this.#isHeld = true
          this.#isOutdated = false
          resolve(true)
          await over
        })
      ask().catch(() => {
        cancel()
        if (state !== 'held') return refused()
        // Another tab has taken the lock.
        this.#isHeld = false
        this.fenced()
      })
    })
  }
}
