// The classes become globals, because `idb` tells its values apart by them; the factory is one's own.
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'

/** An IndexedDB of one's own, empty. */
export function fakeIndexedDb(): globalThis.IDBFactory {
  return new IDBFactory()
}
