import type { Unsubscribe } from '../base/emitter.ts'
import type { SyncClient } from '../client/sync-client.ts'

type Running = Pick<SyncClient, 'status' | 'start' | 'stop'>

/** The number of mounted providers of each client. */
const providers = new WeakMap<Running, number>()

/** The clients that this module started. The last provider stops such a client. */
const started = new WeakSet<Running>()

/** Keeps `client` running for one more provider, until the provider calls the returned function. */
export function keepRunning(client: Running): Unsubscribe {
  // If another provider is mounted and the client does not run, the application has stopped the client.
  if (providersOf(client) === 0) start(client)
  providers.set(client, providersOf(client) + 1)
  return () => {
    providers.set(client, providersOf(client) - 1)
    // Wait a moment: in strict mode, or if another provider replaces this one, the client is to keep running.
    soon(() => {
      if (providersOf(client) === 0 && started.delete(client)) client.stop().catch(() => {})
    })
  }
}

/** Starts `client` for providers that React mounts only once there is data. */
export function startForProviders(client: Running): void {
  // Not during rendering, since listeners of the client's events may set state.
  soon(() => {
    if (providersOf(client) === 0) start(client)
  })
}

function start(client: Running): void {
  if (client.status.lifecycle === 'running') return
  started.add(client)
  // The client's status and events show errors of starting and stopping.
  client.start().catch(() => {})
}

function providersOf(client: Running): number {
  return providers.get(client) ?? 0
}

function soon(work: () => void): void {
  void Promise.resolve().then(work)
}
