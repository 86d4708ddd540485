import { describe, test } from 'vitest'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { storeContract } from '../../src/storage/contract.ts'
import { withTimeLimits } from '../../src/storage/deadline.ts'
import { indexedDbStore } from '../../src/storage/indexeddb.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { ownSqliteStore } from '../support/sqlite.ts'
import { fakeIndexedDb } from '../support/store-fake-indexeddb.ts'

const { clock } = resolveEnvironment()

const stores: { readonly [name: string]: () => Store } = {
  'the memory store': memoryStore,
  'the IndexedDB store': () => indexedDbStore({ indexedDB: fakeIndexedDb() }),
  'the SQLite store': () => ownSqliteStore(),
  'the memory store with time limits': () => withTimeLimits(memoryStore(), clock),
  'the IndexedDB store with time limits': () =>
    withTimeLimits(indexedDbStore({ indexedDB: fakeIndexedDb() }), clock),
}

for (const [what, make] of Object.entries(stores)) {
  describe(what, () => {
    for (const { name, run } of storeContract) test(name, () => run({ store: make(), name: 'contract' }))
  })
}
