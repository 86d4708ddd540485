import type { Clock } from '../base/environment.ts'
import type { Output } from './shell.ts'

const everyMs = 100

/** Shows the progress in one line of a terminal. Without a terminal, shows nothing. */
export class Progress {
  readonly #output: Output
  readonly #clock: Clock
  #shownAt = Number.NEGATIVE_INFINITY

  constructor(output: Output, clock: Clock) {
    this.#output = output
    this.#clock = clock
  }

  show(what: string, done: number, all: number): void {
    const now = this.#clock.now()
    if (!this.#output.isTerminal || now - this.#shownAt < everyMs) return
    this.#shownAt = now
    this.#output.write(`\r\u001b[2K${what} ${Math.floor((100 * done) / Math.max(1, all))} %`)
  }

  /** Removes the line. */
  clear(): void {
    if (this.#output.isTerminal) this.#output.write('\r\u001b[2K')
  }
}
