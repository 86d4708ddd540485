import type { Clock } from '../../base/environment.ts'
import { GroupQueue } from '../log/group-queue.ts'
import { type Failure, tooManyRequests, unavailable } from './failure.ts'

/** How many bodies of the maximum length may be under way at once, in the process and for each user. */
const maxOfProcess = 32
const maxOfUser = 4

/** The part of `maxOfProcess` that is kept for bodies that are not long, and the part in which each user has one long body. */
const keptForShort = 8
const sparing = 16

/** A body of more than this part of the maximum length is long. */
const longPart = 1 / 16

/** How many long bodies are parsed and decided about at once, in the process and for each user. */
const maxInUse = 4
const maxInUseOfUser = 2

/** How long a long body may wait for others, in ms. */
const maxWaitMs = 10_000

interface Job {
  readonly user: string
  readonly bytes: number
  readonly use: () => Promise<void>
}

/**
 * Limits the bytes of bodies that are under way: being received, or being decided about. Parsed, a byte takes many
 * times its room, so few long bodies are parsed at once, and users take turns.
 */
export class BodyLimits {
  readonly #maxBodyBytes: number
  readonly #turns: GroupQueue<Job, void>
  #total = 0
  readonly #byUser = new Map<string, number>()

  constructor(maxBodyBytes: number, clock: Clock) {
    this.#maxBodyBytes = maxBodyBytes
    this.#turns = new GroupQueue({
      run: (jobs) => Promise.all(jobs.map(({ use }) => use())),
      sizeOf: ({ bytes }) => bytes,
      callerOf: ({ user }) => user,
      isOfOne: () => false,
      maxAtOnce: 1,
      lanes: maxInUse,
      lanesOfCaller: maxInUseOfUser,
      clock,
      maxWaitMs,
    })
  }

  /** Runs `use` for a request of `user`, which must reserve the bytes of its body. */
  async run<T>(user: string, use: (body: BodyUse) => Promise<T>): Promise<T> {
    let own = 0
    const add = (bytes: number) => {
      own += bytes
      this.#total += bytes
      const ofUser = (this.#byUser.get(user) ?? 0) + bytes
      if (ofUser > 0) this.#byUser.set(user, ofUser)
      else this.#byUser.delete(user)
    }
    const reserve = (length: number) => {
      const more = length - own
      if (more <= 0) return
      this.#check(user, more, length)
      add(more)
    }
    try {
      return await use({ reserve, inTurn: (work) => this.#inTurn(user, own, work) })
    } finally {
      add(-own)
    }
  }

  #inTurn<T>(user: string, bytes: number, work: () => Promise<T>): Promise<T> {
    if (!this.#isLong(bytes)) return work()
    return new Promise((resolve, reject) => {
      const use = () => work().then(resolve, reject)
      this.#turns.do({ user, bytes, use }).catch(reject)
    })
  }

  #isLong(bytes: number): boolean {
    return bytes > this.#maxBodyBytes * longPart
  }

  #check(user: string, more: number, length: number): void {
    const ofUser = this.#byUser.get(user) ?? 0
    const isSparing = this.#isLong(length) && this.#total > sparing * this.#maxBodyBytes
    if (ofUser + more > (isSparing ? 1 : maxOfUser) * this.#maxBodyBytes) {
      throw tooManyRequests(
        'Too many long bodies of this user are under way. Send them one after the other.',
        1,
      )
    }
    const max = maxOfProcess - (this.#isLong(length) ? keptForShort : 0)
    if (this.#total + more > max * this.#maxBodyBytes)
      throw unavailable('Too many long bodies are under way.', 1)
  }
}

export interface BodyUse {
  readonly reserve: Reserve
  /** Runs what parses the body and decides about it. If the body is long, it first waits for those of others. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** Reserves `length` bytes in all for a body. Throws a {@link Failure} if that is too much at the moment. */
export type Reserve = (length: number) => void
