import { isSyncError } from '../../src/base/errors.ts'
import { resolveWorld } from '../../src/base/world.default.ts'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { same, storageError } from '../../src/storage/contract/context.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { mockSyncServer } from '../../src/testing/index.ts'
import {
  appended,
  plain,
  restoreState,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import { type PageCase, tell } from './in-page.ts'

const { clock } = resolveWorld()
const store = indexedDbStore()
const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))

/** How much room the page is left. */
export const quotaBytes = 4_000_000

export interface LossCase extends PageCase {
  /** Whether it asks, once, by telling `clear`, to have the data of the page cleared. */
  readonly clears?: boolean
}

/** What an engine may do to its pages' data. */
export const lossCases: readonly LossCase[] = [
  {
    name: 'without room, a write is refused with the code `quota`, and what was stored is whole',
    async run() {
      const database = await openDatabase({ store, name: 'quota', clock })
      await storeSnapshot(database, first)
      const p = { text: incompressible(2 * quotaBytes) }
      const ops = [{ op: 'i', t: 'Issue', id: 'big', p }] as const
      await storageError(database.append({ since: 10, sid: 11, ops }), 'an append', 'quota')
      same(plain(await restoreState(database)), plain(first), 'what is stored')
      const small = { since: 10, sid: 11, ops: [] }
      await database.append(small)
      same(plain(await restoreState(database)), plain(appended(first, small)), 'what is stored then')
    },
  },
  {
    name: 'where the data is cleared, a connection tells once and refuses with `closed`, and another finds nothing',
    clears: true,
    async run() {
      const connection = await store.open('cleared')
      const database = await openDatabase({ store, name: 'cleared', clock })
      await storeSnapshot(database, first)
      let told = 0
      connection.onLost(() => {
        told += 1
      })
      await clearAll()
      await storageError(database.append({ since: 10, sid: 11, ops: [] }), 'an append', 'closed')
      const again = await reopened('cleared')
      same((await restoreState(again)) === undefined, true, 'whether nothing is found')
      same(told, 1, 'how often it was told')
    },
  },
  {
    name: 'where the data is cleared under a client, what it wrote and writes is there after a restart, and its copy too',
    clears: true,
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
    name: 'where the data is cleared under a client that is left alone, what it wrote is there after a restart',
    clears: true,
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
]

/** Has all that the page stored cleared, and waits until its connections are lost. */
async function clearAll(): Promise<void> {
  const connection = await store.open('watching')
  const lost = new Promise<void>((resolve) => {
    connection.onLost(() => resolve())
  })
  await tell({ type: 'clear' })
  await lost
}

/** Opens it as often as the engine closes it again, which it may do until it has cleared all. */
async function reopened(name: string): Promise<Database> {
  for (;;) {
    try {
      return await openDatabase({ store, name, clock })
    } catch (error) {
      if (!isSyncError(error, 'StorageError') || error.code !== 'closed') throw error
    }
  }
}

/** An engine may compress what it stores. */
function incompressible(length: number): string {
  const bytes = new Uint8Array(length / 2)
  for (let from = 0; from < bytes.length; from += 65_536) {
    crypto.getRandomValues(bytes.subarray(from, from + 65_536))
  }
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
