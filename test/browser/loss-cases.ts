import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { isSyncError } from '../../src/base/errors.ts'
import type { Transaction } from '../../src/index.ts'
import { same, storageError } from '../../src/storage/contract/context.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { mockSyncServer } from '../../src/testing/index.ts'
import { openDatabase } from '../support/database.ts'
import { restoreState, rowsNamed, snapshotOf, storeSnapshot } from '../support/store-state.ts'
import type { PageCase } from './in-page.ts'

const { clock } = resolveEnvironment()
const store = indexedDbStore()
const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))

/** What becomes of a page whose data is cleared. */
export const lossCases: readonly PageCase[] = [
  {
    name: 'after the data is cleared, a connection reports it once and refuses with `closed`, and another finds nothing',
    async run() {
      const connection = await store.open('cleared')
      const database = await openDatabase({ store, name: 'cleared', clock })
      await storeSnapshot(database, first)
      let told = 0
      connection.onLost(() => {
        told += 1
      })
      await clearAll()
      const reading = connection.transaction({ tables: ['meta'], mode: 'read' }, (tx) =>
        tx.get('meta', 'head'),
      )
      await storageError(reading, 'a read', 'closed')
      database.close()
      const again = await reopened(() => openDatabase({ store, name: 'cleared', clock }))
      same((await restoreState(again)) === undefined, true, 'whether nothing is found')
      same(told, 1, 'how often it was told')
    },
  },
  {
    name: 'a client whose data is cleared has its writes and its copy after a restart',
    async run() {
      const server = mockSyncServer({ clock: 'real' })
      const options = { identity: 'ada', store }
      const client = server.client(options)
      await client.start()
      await server.write([{ op: 'i', t: 'Note', id: '1', p: {} }], 'ada')
      await server.settle()
      server.down()
      const before = client.mutate((m) => m.insert('Note', { id: '2' }))
      await before.durable
      await clearAll()
      const after = client.mutate((m) => m.insert('Note', { id: '3' }))
      await after.durable
      await client.close()
      const offline = server.client(options)
      await offline.start()
      const kept = offline.outbox.list().map(({ id }) => id)
      same(kept, [before.id, after.id], 'what waits after a restart')
      server.up()
      await server.settle()
      same((await server.rows('ada')).length, 3, 'how many records the server has')
      await offline.close()
      server.down()
      const again = server.client(options)
      await again.start()
      same(again.count('Note'), 3, 'how many records a restart shows')
      await again.close()
      await server.close()
    },
  },
  {
    name: 'an idle client whose data is cleared has its writes after a restart',
    async run() {
      const server = mockSyncServer({ clock: 'real' })
      const options = { identity: 'ben', store }
      const client = server.client(options)
      await client.start()
      await server.write([{ op: 'i', t: 'Note', id: '1', p: {} }], 'ben')
      await server.settle()
      server.down()
      const tx = client.mutate((m) => m.insert('Note', { id: '2' }))
      await tx.durable
      const noticed = new Promise<void>((resolve) => {
        client.on('storage', ({ reason }) => (reason === undefined ? undefined : resolve()))
      })
      await clearAll()
      await noticed
      await client.close()
      const again = server.client(options)
      await again.start()
      const kept = again.outbox.list().map(({ id }) => id)
      same(kept, [tx.id], 'what waits after a restart')
      await again.close()
      await server.close()
    },
  },
  {
    name: 'a client whose data is cleared while it writes has all its writes after a restart',
    async run() {
      const server = mockSyncServer({ clock: 'real' })
      const options = { identity: 'cid', store }
      const client = server.client(options)
      await client.start()
      await server.settle()
      server.down()
      const written: Transaction[] = []
      for (let round = 0; round < 5; round += 1) {
        let cleared = false
        const clearing = clearAll().then(() => {
          cleared = true
        })
        while (!cleared) {
          written.push(client.mutate((m) => m.insert('Note', {})))
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
        await clearing
      }
      await Promise.all(written.map(({ durable }) => durable))
      await client.close()
      const again = server.client(options)
      await again.start()
      same(
        again.outbox.list().map(({ id }) => id),
        written.map(({ id }) => id),
        'what waits after a restart',
      )
      await again.close()
      await server.close()
    },
  },
]

/** Has all that the page stored cleared, and waits until its connections are lost. */
async function clearAll(): Promise<void> {
  const connection = await reopened(() => store.open('watching'))
  const lost = new Promise<void>((resolve) => {
    connection.onLost(() => resolve())
  })
  await fetch('/clear')
  await lost
}

/** Opens it as often as the engine closes it again, which it may do until it has cleared all. */
async function reopened<T>(open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!isSyncError(error, 'StorageError') || error.code !== 'closed') throw error
    }
  }
}
