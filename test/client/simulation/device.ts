import { expect } from 'vitest'
import { memoryStore } from '../../../src/storage/memory.ts'
import { Process } from './process.ts'
import type { Simulation } from './simulation.ts'

/** A device: a disk, and one process after another. */
export class SimulatedDevice {
  readonly #simulation: Simulation
  readonly #disk = memoryStore()
  #process: Process | undefined
  /** As far as `sync` has said that all is stored. */
  #durable = 0
  token: string

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    this.token = simulation.server.tokens.issue('ada')
  }

  /** Its process, unless that was ended. */
  get process(): Process | undefined {
    return this.#process?.dead ? undefined : this.#process
  }

  /** Its process; where there is none, another one, which finds on the disk a true state, and all that is durable. */
  async running(): Promise<Process> {
    if (this.process) return this.process
    const process = new Process(this.#simulation, this, this.#disk)
    this.#process = process
    process.network.cut()
    await this.#simulation.clock.until(process.client.start())
    const { lastSyncId } = process.client
    // A snapshot that counts only the changes to its rows may set the position back.
    if (this.#simulation.options.snapshotTo === 'head') {
      expect(lastSyncId).toBeGreaterThanOrEqual(this.#durable)
    }
    expect(this.#simulation.storedAt(lastSyncId)).toContainEqual(process.shown)
    process.network.mend()
    return process
  }

  async sync(): Promise<void> {
    const result = await this.process?.client.sync().catch(() => undefined)
    this.#durable = Math.max(this.#durable, result?.sid ?? 0)
  }

  /** Ends its process as it should be ended. */
  async quit(): Promise<void> {
    const { process } = this
    if (!process) return
    this.#process = undefined
    process.store.disarm()
    await this.#simulation.clock.until(process.client.close())
    await this.#simulation.clock.advance(60_000)
    process.checkGone()
  }

  signIn(): void {
    this.token = this.#simulation.server.tokens.issue('ada')
    this.process?.client.resume()
  }

  async onUnauthenticated(): Promise<string | undefined> {
    if (!this.#simulation.options.signsInAtOnce) return undefined
    this.token = this.#simulation.server.tokens.issue('ada')
    return this.token
  }
}
