import { BareServer, type BareServerOptions } from '../../support/bare-server.ts'
import { type VirtualBareServer, virtualMount } from '../../support/bare-server-virtual.ts'
import { Oracle } from '../../support/oracle.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'
import { SimulatedDevice } from './device.ts'

export interface SimulationOptions extends BareServerOptions {
  /** Whether the devices have any. */
  readonly sockets: boolean
  /** What each piece of a body takes, in ms: bodies then come later than what is pushed after them. */
  readonly chunkMs: number
  /** After a 401: at once, or when somebody gets to it. */
  readonly signsInAtOnce: boolean
  /** What goes wrong in this run. */
  readonly troubles: readonly string[]
}

/** Records by type and id. */
export interface Shown {
  readonly [key: string]: unknown
}

type Ops = Parameters<Oracle['write']>[0]

/** A bare server, two devices of Ada's before it, and what is true of her data at each position; in virtual time. */
export class Simulation {
  readonly options: SimulationOptions
  readonly clock = new VirtualClock()
  readonly server: BareServer
  readonly mount: VirtualBareServer
  readonly devices: readonly SimulatedDevice[]
  readonly oracle = new Oracle()
  readonly #truths: { readonly sid: number; readonly shown: Shown }[] = []
  #count = 0

  constructor(options: SimulationOptions) {
    this.options = options
    this.server = new BareServer({ now: () => this.clock.now(), ...options })
    this.mount = virtualMount(this.server)
    this.devices = [new SimulatedDevice(this), new SimulatedDevice(this)]
  }

  /** A number that was not there before. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  write(ops: Ops, sharedSid = false): void {
    const { data } = this.server
    const before = data.sid
    this.oracle.write(ops)
    this.server.write('ada', ops as Parameters<BareServer['write']>[1], { sharedSid })
    const sid = data.framesSince('ada', before).at(-1)?.sid
    if (sid !== undefined) this.#truths.push({ sid, shown: this.#visible() })
  }

  /** What is true at the position `sid`. */
  truthAt(sid: number): Shown {
    return this.#truths.findLast((truth) => truth.sid <= sid)?.shown ?? {}
  }

  /** What may be on a disk at the position `sid`: a snapshot that reaches as far as its rows lacks what was removed since. */
  storedAt(sid: number): readonly Shown[] {
    const later = this.#truths.filter((truth) => this.options.snapshotTo === 'rows' && truth.sid > sid)
    return [this.truthAt(sid), ...later.map(({ shown }) => shown)]
  }

  /** Lets everything work again. */
  async heal(): Promise<void> {
    this.server.heal()
    this.server.behaviour.hold = false
    this.mount.up()
    for (const device of this.devices) {
      const { network, store, environment, client } = await device.running()
      network.mend()
      network.latencyMs = 20
      network.chunkMs = 0
      store.disarm()
      environment.lifecycle.set({ online: true, visible: true })
      void client.start()
      device.signIn()
    }
  }

  #visible(): Shown {
    return Object.fromEntries(
      this.oracle.visibleTo('ada').map(({ t, id, p }) => [`${t} ${id}`, { ...p, id }]),
    )
  }
}
