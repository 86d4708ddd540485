import { type Failure, tooManyRequests, unavailable } from './failure.ts'

/** How many bodies of the maximum length may be under way at once, in the process and for each user. */
const maxOfProcess = 32
const maxOfUser = 4

/**
 * Limits the bytes of bodies that are under way: being received, or being decided about. Parsed, a byte takes many
 * times its room, so a few long bodies at once could exhaust the memory.
 */
export class BodyLimits {
  readonly #maxBodyBytes: number
  #total = 0
  readonly #byUser = new Map<string, number>()

  constructor(maxBodyBytes: number) {
    this.#maxBodyBytes = maxBodyBytes
  }

  /** Runs `use` for a request of `user`, which must reserve the bytes of its body. */
  async run<T>(user: string, use: (reserved: Reserve) => Promise<T>): Promise<T> {
    let own = 0
    const add = (bytes: number) => {
      own += bytes
      this.#total += bytes
      const ofUser = (this.#byUser.get(user) ?? 0) + bytes
      if (ofUser > 0) this.#byUser.set(user, ofUser)
      else this.#byUser.delete(user)
    }
    try {
      return await use((length) => {
        const more = Math.max(0, length - own)
        this.#check(user, more)
        add(more)
      })
    } finally {
      add(-own)
    }
  }

  #check(user: string, more: number): void {
    if ((this.#byUser.get(user) ?? 0) + more > maxOfUser * this.#maxBodyBytes) {
      throw tooManyRequests(
        'Too many long bodies of this user are under way. Send them one after the other.',
        1,
      )
    }
    if (this.#total + more > maxOfProcess * this.#maxBodyBytes) {
      throw unavailable('Too many long bodies are under way.', 1)
    }
  }
}

/** Reserves `length` bytes in all for a body. Throws a {@link Failure} if that is too much at the moment. */
export type Reserve = (length: number) => void
