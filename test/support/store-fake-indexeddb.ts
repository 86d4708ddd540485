// `IDBKeyRange` becomes a global, which the store takes from there; each factory is one's own.
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'

/** An IndexedDB of one's own, empty. */
export function fakeIndexedDb(): globalThis.IDBFactory {
  return new IDBFactory()
}
