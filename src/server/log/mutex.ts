/** Runs callers one after another, in the order of their calls. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  /** Resolves with the function that ends the turn. */
  async take(): Promise<() => void> {
    const before = this.#last
    let end = () => {}
    this.#last = new Promise((resolve) => {
      end = resolve
    })
    await before
    return end
  }
}
