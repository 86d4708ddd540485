import type { Store } from '../../src/storage/store.ts'
import { BareServer, type BareServerOptions } from './bare-server.ts'
import { type VirtualBareServer, virtualMount } from './bare-server-virtual.ts'
import { TestDevice } from './test-device.ts'
import { VirtualClock, VirtualNetwork, virtualEnvironment } from './virtual.ts'

export { baseUrl, shown } from './test-device.ts'

/** A bare server and Ada's device before it, in virtual time. */
export class Device extends TestDevice {
  readonly server: BareServer
  readonly mount: VirtualBareServer

  constructor({ store, ...options }: BareServerOptions & { readonly store?: Store } = {}) {
    const clock = new VirtualClock()
    const server = new BareServer({ now: () => clock.now(), ...options })
    const mount = virtualMount(server)
    const network = new VirtualNetwork({ clock, server: mount })
    const environment = virtualEnvironment({ seed: 1, clock, network })
    super({ clock, network, environment, store, token: server.tokens.issue('ada') })
    this.server = server
    this.mount = mount
  }

  /** The paths that were asked for, with their `since`. */
  get requests(): string[] {
    return this.server.requests.map(({ path, query }) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return query.has('since') ? `${name} ${query.get('since')}` : name
    })
  }

  /** How many snapshots were asked for. */
  get bootstraps(): number {
    return this.requests.filter((path) => path === 'bootstrap').length
  }

  /** Writes for Ada. */
  insert(id: string, p: { readonly [field: string]: unknown } = {}, t = 'Issue'): number {
    return this.server.write('ada', [{ op: 'i', t, id, p }])
  }

  update(id: string, p: { readonly [field: string]: unknown }): number {
    return this.server.write('ada', [{ op: 'u', t: 'Issue', id, p }])
  }

  remove(id: string): number {
    return this.server.write('ada', [{ op: 'd', t: 'Issue', id }])
  }
}
