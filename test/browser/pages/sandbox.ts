import { indexedDbStore, SyncClient } from '../../../src/index.ts'
import { same } from '../../../src/storage/contract/context.ts'
import { runCases } from '../in-page.ts'
import { sandboxCase } from '../sandbox-case.ts'

/** Writes a record in this frame, signs out, and returns what the client then shows. */
async function signOut() {
  const client = new SyncClient({
    baseUrl: 'https://sync.test/sync/v1',
    token: 'ada',
    identity: 'ada',
    store: indexedDbStore(),
    // The client needs no server here.
    environment: { fetch: () => Promise.reject(new TypeError('offline')), WebSocket: undefined },
  })
  await client.start()
  client.mutate((m) => m.insert('Note', {}))
  const before = client.count('Note')
  const { discarded } = await client.logout({ pending: 'discard' })
  return { before, discarded, after: client.count('Note'), lifecycle: client.status.lifecycle }
}

if (parent === window) {
  void runCases([
    {
      ...sandboxCase,
      async run() {
        const frame = document.createElement('iframe')
        frame.setAttribute('sandbox', 'allow-scripts')
        frame.src = '/frame'
        const answered = new Promise((resolve) => {
          addEventListener('message', ({ data }) => resolve(data), { once: true })
        })
        document.documentElement.append(frame)
        same(await answered, { before: 1, discarded: 1, after: 0, lifecycle: 'signed-out' }, 'the frame')
      },
    },
  ])
} else
  signOut()
    .catch(String)
    .then((answer) => parent.postMessage(answer, '*'))
