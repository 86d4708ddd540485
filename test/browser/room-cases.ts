import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { same, storageError } from '../../src/storage/contract/context.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { openDatabase } from '../support/database.ts'
import {
  appended,
  plain,
  restoreState,
  rowsNamed,
  snapshotOf,
  storeSnapshot,
} from '../support/store-state.ts'
import type { PageCase } from './in-page.ts'

const { clock } = resolveEnvironment()
const store = indexedDbStore()
const first = snapshotOf(10, rowsNamed('a', 'b', 'c'))

/** How much room the page is left. */
export const quotaBytes = 4_000_000

/** What becomes of a page that is left too little room. */
export const roomCases: readonly PageCase[] = [
  {
    name: 'a write without room is refused with the code `quota`, what was stored is whole, and a small one is stored',
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
]

/** An engine may compress what it stores. */
function incompressible(length: number): string {
  const bytes = new Uint8Array(length / 2)
  for (let from = 0; from < bytes.length; from += 65_536) {
    crypto.getRandomValues(bytes.subarray(from, from + 65_536))
  }
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
