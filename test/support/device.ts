import type { SyncClient } from '../../src/index.ts'
import type { Store } from '../../src/storage/store.ts'
import { BareServer, type BareServerOptions } from './bare-server.ts'
import { faults } from './bare-server-faults.ts'
import { type VirtualBareServer, virtualMount } from './bare-server-listen.ts'
import { type ClientOptions, shown, TestDevice } from './test-device.ts'
import { VirtualClock, VirtualNetwork, virtualEnvironment } from './virtual.ts'

export { baseUrl, type ClientOptions, shown } from './test-device.ts'

export type DeviceOptions = BareServerOptions & { readonly store?: Store | undefined }

/** A bare server and Ada's device before it, in virtual time. */
export class Device extends TestDevice {
  readonly server: BareServer
  readonly mount: VirtualBareServer

  constructor({ store, ...options }: DeviceOptions = {}) {
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

  /** Sends `message` on the sockets of Ada: text as it is, anything else as JSON. */
  push(message: unknown): void {
    this.server.sockets.send('ada', typeof message === 'string' ? message : JSON.stringify(message))
  }

  /** Answers the next `times` requests of an endpoint with `body`. */
  answer(path: 'bootstrap' | 'delta', body: object, times = 1): void {
    this.server.failNext(faults.answer(200, JSON.stringify(body)), { path, times })
  }
}

/** A bare server with these issues of Ada's, and her client, which is in step over a socket. */
export async function inStep(
  issues: { readonly [id: string]: { readonly [field: string]: unknown } } = {},
  options: ClientOptions = {},
  server: DeviceOptions = {},
) {
  const device = new Device(server)
  for (const [id, fields] of Object.entries(issues)) device.insert(id, fields)
  return { device, client: await device.live(options) }
}

/** The data of a client, to compare it with that of another moment. */
export const dataOf = (client: SyncClient) => ({ shown: shown(client), lastSyncId: client.lastSyncId })
