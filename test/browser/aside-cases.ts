import type { Transaction } from '../../src/index.ts'
import { same } from '../../src/storage/contract/context.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { mockSyncServer } from '../../src/testing/index.ts'
import type { PageCase } from './in-page.ts'

/** What becomes of a page that is left, kept as it is, and shown again. */
export const asideCases: readonly PageCase[] = [
  {
    name: 'what a page writes while it is left is durable once it is back, and there after a restart',
    async run() {
      const server = mockSyncServer({ clock: 'real' })
      const options = { identity: 'ada', store: indexedDbStore() }
      const client = server.client(options)
      await client.start()
      await server.settle()
      server.down()
      let isBack = false
      const back = new Promise<boolean>((resolve) => {
        addEventListener('pageshow', ({ persisted }) => {
          isBack = true
          resolve(persisted)
        })
      })
      location.href = '/away'
      const written: Transaction[] = []
      const write = () => {
        written.push(client.mutate((m) => m.insert('Note', {})))
      }
      addEventListener('pagehide', write)
      while (!isBack) {
        write()
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      same(await back, true, 'whether the page was kept')
      await Promise.all(written.map(({ durable }) => durable))
      await client.close()
      const again = server.client(options)
      await again.start()
      const kept = again.outbox.list().map(({ id }) => id)
      same(
        kept,
        written.map(({ id }) => id),
        'what waits after a restart',
      )
      await again.close()
      await server.close()
    },
  },
]
