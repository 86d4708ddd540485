import { memoryStore } from '../../../src/storage/memory.ts'
import { JumpingClock } from '../../support/jumping-clock.ts'
import type { History } from './history.ts'
import { Ledger } from './ledger.ts'
import { Process } from './process.ts'
import type { Simulation } from './simulation.ts'

/** A device: its user, a disk, and one process after another. */
export class SimulatedDevice {
  readonly user: string
  readonly ledger: Ledger
  /** Which its user may set. */
  readonly clock: JumpingClock
  readonly #simulation: Simulation
  readonly #disk = memoryStore()
  #process: Process | undefined
  token = ''
  /** The one that its data is of, where that can be told. */
  history: History | undefined

  constructor(simulation: Simulation, user: string) {
    this.#simulation = simulation
    this.user = user
    this.history = simulation.history
    this.clock = new JumpingClock(simulation.clock)
    this.ledger = new Ledger(simulation)
    this.signIn()
  }

  /** Its process, unless that was ended. */
  get process(): Process | undefined {
    return this.#process?.dead ? undefined : this.#process
  }

  /** Its process; where there is none, another one, which finds on the disk what the user was told is there. */
  async running(): Promise<Process> {
    if (this.process) return this.process
    const process = new Process(this.#simulation, this, this.#disk)
    this.#process = process
    process.network.cut()
    await this.#simulation.clock.until(process.client.start())
    await process.check()
    process.network.mend()
    return process
  }

  /** Ends its process as it should be ended. */
  async quit(): Promise<void> {
    const { process } = this
    if (!process) return
    this.#process = undefined
    await process.quit()
  }

  signIn(): string {
    this.token = `${this.user}.${this.#simulation.next()}`
    return this.token
  }
}
