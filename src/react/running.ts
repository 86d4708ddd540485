import type { Unsubscribe } from '../base/emitter.ts'
import type { SyncClient } from '../client/sync-client.ts'

type Running = Pick<SyncClient, 'status' | 'start' | 'stop'>

/** How many providers of a client are mounted. */
const providers = new WeakMap<Running, number>()

/** The clients that were started here, which the last provider stops. */
const started = new WeakSet<Running>()

/** Lets `client` run for one more provider, until that calls what it gives. */
export function keepRunning(client: Running): Unsubscribe {
  // One that does not run below another provider was stopped by the application.
  if (providersOf(client) === 0) start(client)
  providers.set(client, providersOf(client) + 1)
  return () => {
    providers.set(client, providersOf(client) - 1)
    // Not at once: in strict mode, and where another provider takes its place, it is to go on.
    soon(() => {
      if (providersOf(client) === 0 && started.delete(client)) client.stop().catch(() => {})
    })
  }
}

/** Starts `client` for providers that wait for data, and are mounted only then. */
export function startForProviders(client: Running): void {
  // Not while React renders, since whoever hears of it may render too.
  soon(() => {
    if (providersOf(client) === 0) start(client)
  })
}

function start(client: Running): void {
  if (client.status.lifecycle === 'running') return
  started.add(client)
  // What can fail in it, as in stopping, the client's status and events tell.
  client.start().catch(() => {})
}

function providersOf(client: Running): number {
  return providers.get(client) ?? 0
}

function soon(work: () => void): void {
  void Promise.resolve().then(work)
}
