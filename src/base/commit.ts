/** The number of rounds after which listeners that change what they listen to are no longer called. */
const maxRounds = 100

export interface CommitOptions {
  /** Updates the state that depends on the changes. Calls no listener. */
  readonly update: () => void
  /** Calls the listeners of everything that has changed since the last call. */
  readonly notify: () => void
  /**
   * Listeners have caused too many rounds. What has changed since the last round is left for the next commit. A commit
   * that this call causes would begin the rounds again: it must not `mark`.
   */
  readonly onLoop: () => void
}

/**
 * The one place where listeners are called: after a change, when everything that they can read agrees. A change that a
 * listener makes can be read at once, and is notified in another round, once all listeners know of the first.
 */
export class Commit {
  readonly #options: CommitOptions
  #isDue = false
  #isNotifying = false
  #isAgain = false

  constructor(options: CommitOptions) {
    this.#options = options
  }

  /** Call after each change. Commits as soon as the running code has ended, unless `now` is called before. */
  mark(): void {
    if (this.#isDue) return
    this.#isDue = true
    void Promise.resolve().then(() => {
      if (this.#isDue) this.now()
    })
  }

  /** Commits now. Call at the end of a synchronous call of the application, whose effects it expects to see. */
  now(): void {
    const { update, notify, onLoop } = this.#options
    this.#isDue = false
    update()
    this.#isAgain = true
    if (this.#isNotifying) return
    this.#isNotifying = true
    for (let round = 0; this.#isAgain && round < maxRounds; round += 1) {
      this.#isAgain = false
      notify()
    }
    if (this.#isAgain) onLoop()
    this.#isNotifying = false
  }
}
