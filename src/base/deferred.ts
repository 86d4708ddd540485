/** A promise that is settled from outside. Its rejection is never an unhandled one. */
export class Deferred<T> {
  readonly promise: Promise<T>
  /** Does nothing if the promise has settled. */
  resolve: (value: T) => void = () => {}
  reject: (reason: unknown) => void = () => {}

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.promise.catch(() => {})
  }
}
