import type { Clock } from '../../base/environment.ts'
import { type Failure, tooManyRequests, unavailable } from './failure.ts'

/** The number of reads of a user that may be starting at once; further reads wait. */
const maxBeginning = 2

/** The number of reads of a user that wait, and how long each may wait, in ms. */
const maxWaiting = 1_000
const waitMs = 10_000

/** The number of long responses that a user may receive at once. */
const maxStreams = 2

/** A response of which nothing was read for this time, in ms, makes room for another one. */
const idleMs = 10_000

const retryAfterSeconds = 5

/** A long response that is being received. */
export interface Stream {
  /** Call it whenever the client has read from the response. */
  alive(): void
  /** Makes room for another response. Safe to call again. */
  release(): void
}

/** Counts a long response. `end` breaks it off. Returns `undefined` if the user receives enough already. */
export type BeginStream = (end: () => void) => Stream | undefined

interface OpenStream {
  readAt: number
  readonly end: () => void
}

interface User {
  beginning: number
  readonly waiting: Set<() => void>
  readonly streams: Set<OpenStream>
}

/**
 * Limits the reads of each user, so that a user slows down nobody else. Each read that begins takes a connection of the
 * database, and each long response keeps a connection or a file.
 */
export class UserReads {
  readonly #clock: Clock
  readonly #byUser = new Map<string, User>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs `begin`, which ends once the response is complete or its stream has begun. Waits while the user begins other
   * reads. Throws a {@link Failure} if that takes too long, or if `signal` reports that the client has gone.
   */
  async run<T>(
    name: string,
    signal: AbortSignal,
    begin: (beginStream: BeginStream) => Promise<T>,
  ): Promise<T> {
    const user = this.#byUser.get(name) ?? { beginning: 0, waiting: new Set(), streams: new Set() }
    this.#byUser.set(name, user)
    if (user.beginning >= maxBeginning) await this.#turn(user, signal)
    else user.beginning += 1
    try {
      if (signal.aborted) throw gone()
      return await begin((end) => this.#begin(name, user, end))
    } finally {
      user.beginning -= 1
      const [next] = user.waiting
      next?.()
      this.#forget(name, user)
    }
  }

  #turn(user: User, signal: AbortSignal): Promise<void> {
    if (user.waiting.size >= maxWaiting) throw tooMany()
    return new Promise((resolve, reject) => {
      const leave = () => {
        user.waiting.delete(start)
        cancel()
        signal.removeEventListener('abort', onGone)
      }
      const start = () => {
        leave()
        user.beginning += 1
        resolve()
      }
      const onGone = () => {
        leave()
        reject(gone())
      }
      const cancel = this.#clock.after(waitMs, () => {
        leave()
        reject(tooMany())
      })
      signal.addEventListener('abort', onGone)
      user.waiting.add(start)
    })
  }

  #begin(name: string, user: User, end: () => void): Stream | undefined {
    const now = this.#clock.now()
    if (user.streams.size >= maxStreams) {
      const idle = [...user.streams].find(({ readAt }) => now - readAt >= idleMs)
      if (!idle) return undefined
      user.streams.delete(idle)
      idle.end()
    }
    const stream = { readAt: now, end }
    user.streams.add(stream)
    return {
      alive: () => {
        stream.readAt = this.#clock.now()
      },
      release: () => {
        user.streams.delete(stream)
        this.#forget(name, user)
      },
    }
  }

  #forget(name: string, user: User): void {
    const isIdle = user.beginning + user.waiting.size + user.streams.size === 0
    // A late call may be of an earlier user of this name.
    if (isIdle && this.#byUser.get(name) === user) this.#byUser.delete(name)
  }
}

/** The response if a user reads too much at once. */
export function tooMany(): Failure {
  const message = 'This user receives too many long responses at once. Wait for one to end.'
  return tooManyRequests(message, retryAfterSeconds)
}

function gone(): Failure {
  return unavailable('The client has gone.', 1)
}
