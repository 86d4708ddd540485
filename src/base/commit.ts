/** The maximum number of rounds in one commit: listeners may change what they listen to, over and over. */
const maxRounds = 100

export interface CommitOptions {
  /** Updates the state that depends on the changes. Calls no listener. */
  readonly update: () => void
  /** Calls the listeners of everything that has changed since the last call. */
  readonly notify: () => void
  /**
   * Called when one commit has reached the maximum number of rounds. Listeners hear of the remaining changes in the
   * next commit. This function must not call `mark`: that would start the rounds again.
   */
  readonly onLoop: () => void
}

/**
 * The one place where listeners are called: after a change, when all state that they can read agrees. A change by a
 * listener can be read at once. It is notified in another round, after all listeners have heard of the first change.
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

  /** Commits now. Call at the end of a synchronous call of the application, which expects to see the effects. */
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
