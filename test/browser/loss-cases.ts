import { isSyncError } from '../../src/base/errors.ts'
import { resolveWorld } from '../../src/base/world.default.ts'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { same, storageError } from '../../src/storage/contract/context.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
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

/** What an engine may do to its pages' data. The page asks for it by telling its type. */
export const lossCases: readonly PageCase[] = [
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
    async run() {
      const connection = await store.open('cleared')
      const database = await openDatabase({ store, name: 'cleared', clock })
      await storeSnapshot(database, first)
      let told = 0
      const lost = new Promise<void>((resolve) => {
        connection.onLost(() => {
          told += 1
          resolve()
        })
      })
      await tell({ type: 'clear' })
      await lost
      await storageError(database.append({ since: 10, sid: 11, ops: [] }), 'an append', 'closed')
      const again = await reopened('cleared')
      same((await restoreState(again)) === undefined, true, 'whether nothing is found')
      same(told, 1, 'how often it was told')
    },
  },
]

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
