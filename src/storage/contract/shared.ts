import { Deferred } from '../../base/deferred.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { SharedParts } from '../store.ts'
import { rejection, type StoreContractCase, type StoreContractContext, same } from './context.ts'

/**
 * Cases for the locks and messages that the clients of one database share. A store without `shared` passes them all.
 */
export const sharedCases: readonly StoreContractCase[] = [
  withShared(
    'a shared lock has one holder, and the next one when it is released',
    async ([one, other], name) => {
      const [held, next] = [new Deferred<void>(), new Deferred<void>()]
      if (!one.locks || !other.locks) return
      const holding = await hold(one, name, held)
      let isTaken: unknown
      await other.locks.request(name, { ifAvailable: true }, async (lock) => {
        isTaken = lock
      })
      same(isTaken, null, 'the lock for another client, if it is available')
      const waiting = hold(other, name, next)
      held.resolve()
      await holding
      await waiting
      next.resolve()
    },
  ),

  withShared('a shared lock that is stolen is lost for its holder', async ([one, other], name) => {
    const [held, stolen] = [new Deferred<void>(), new Deferred<void>()]
    if (!one.locks || !other.locks) return
    const { over } = await hold(one, name, held)
    await hold(other, name, stolen, { steal: true })
    await rejection(over, 'the request of the former holder')
    held.resolve()
    stolen.resolve()
  }),

  withShared('a request for a shared lock can be aborted', async ([one, other], name) => {
    const held = new Deferred<void>()
    if (!one.locks || !other.locks) return
    await hold(one, name, held)
    const controller = new AbortController()
    const waiting = other.locks.request(name, { signal: controller.signal }, async () => {})
    controller.abort()
    await rejection(waiting, 'the request')
    held.resolve()
  }),

  withShared('a shared channel brings messages to all others, in order', async ([one, other], name) => {
    if (!one.BroadcastChannel || !other.BroadcastChannel) return
    const [sender, receiver, stranger] = [
      new one.BroadcastChannel(name),
      new other.BroadcastChannel(name),
      new other.BroadcastChannel(`${name}-other`),
    ]
    const heard: unknown[] = []
    const last = new Deferred<void>()
    for (const channel of [sender, receiver, stranger]) {
      channel.onmessage = ({ data }) => {
        heard.push(data)
        if (data === 'last') last.resolve()
      }
    }
    for (const message of [{ n: 1, text: null }, { n: 2 }, 'last']) sender.postMessage(message)
    await last.promise
    same(heard, [{ n: 1, text: null }, { n: 2 }, 'last'], 'what the others hear')
    for (const channel of [sender, receiver, stranger]) channel.close()
  }),
]

/** A case with the shared parts of two clients of one database. */
function withShared(
  name: string,
  run: (clients: readonly [SharedParts, SharedParts], name: string) => Promise<void>,
): StoreContractCase {
  return {
    name,
    async run({ store, name: database }: StoreContractContext) {
      const client = () => store.shared?.(database, resolveEnvironment()) ?? {}
      await run([client(), client()], database)
      await store.destroy(database)
    },
  }
}

/**
 * Requests the lock, and holds it until `released` resolves. Resolves once the lock is held; `over` settles as the
 * request does.
 */
async function hold(
  { locks }: SharedParts,
  name: string,
  released: Deferred<void>,
  options: { readonly steal?: boolean } = {},
): Promise<{ readonly over: Promise<unknown> }> {
  const held = new Deferred<void>()
  const over = Promise.resolve(
    locks?.request(name, options, () => {
      held.resolve()
      return released.promise
    }),
  )
  // The lock may be stolen before the caller awaits `over`.
  over.catch(() => {})
  await held.promise
  return { over }
}
