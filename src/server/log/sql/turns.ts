interface Turn {
  job?: () => void
}

/** Runs jobs in the order in which their turns were taken, whichever is ready first. */
export class Turns {
  #turns: Turn[] = []

  /** Takes the next turn. Every later one waits until what it gives is called, with the job. */
  take(): (job: () => void) => void {
    const turn: Turn = {}
    this.#turns.push(turn)
    return (job) => {
      turn.job = job
      for (let first = this.#turns[0]; first?.job; first = this.#turns[0]) {
        this.#turns.shift()
        first.job()
      }
    }
  }
}
