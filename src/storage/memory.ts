import { StorageError } from '../base/errors.ts'
import { abortable } from './abortable.ts'
import { ConnectionLost } from './connection-lost.ts'
import type {
  KeyRange,
  KeySpan,
  Store,
  StoreConnection,
  StoreTransaction,
  StoreValue,
  Table,
  TransactionOptions,
} from './store.ts'
import { runBody, type SyncTables } from './sync-transaction.ts'

/**
 * Returns a store that keeps its data in memory for as long as the store is referenced: for tests, and for environments
 * without another store. It behaves as a durable store does: values are copied, and write transactions run in order.
 */
export function memoryStore(): Store {
  const databases = new Map<string, MemoryDatabase>()
  return {
    kind: 'memory',
    async open(name) {
      const database = databases.get(name) ?? new MemoryDatabase()
      databases.set(name, database)
      return database.connect()
    },
    names: async () => [...databases.keys()],
    async destroy(name) {
      const database = databases.get(name)
      databases.delete(name)
      database?.closeAll()
    },
  }
}

/** The entries in the order of their keys. A committed array is never changed: a write makes another array. */
type Entries = readonly (readonly [key: string, value: StoreValue])[]

class MemoryDatabase {
  readonly #committed = new Map<Table, Entries>()
  /** Resolves when the last write transaction over a table has ended. */
  readonly #lastWrite = new Map<Table, Promise<unknown>>()
  readonly #open = new Map<StoreConnection, ConnectionLost>()

  connect(): StoreConnection {
    const loss = new ConnectionLost()
    const connection: StoreConnection = {
      transaction: async (options, body) => {
        if (!this.#open.has(connection)) throw closed()
        return this.#transaction(options, body)
      },
      close: () => void this.#open.delete(connection),
      onLost: (listener) => loss.on(listener),
    }
    this.#open.set(connection, loss)
    return connection
  }

  closeAll(): void {
    const losses = [...this.#open.values()]
    this.#open.clear()
    for (const loss of losses) loss.tell(closed())
  }

  #transaction<T>(options: TransactionOptions, body: (tx: StoreTransaction) => T | Promise<T>): Promise<T> {
    const { tables, mode, signal } = options
    const turn = Promise.all(tables.map((table) => this.#lastWrite.get(table)))
    return abortable(signal, (aborted) => {
      const work = turn.then(async () => {
        signal?.throwIfAborted()
        const snapshot = new MemoryTables(tables, this.#committed)
        const result = await runBody(snapshot, options, body, aborted)
        for (const [table, entries] of snapshot.changed) this.#committed.set(table, entries)
        return result
      })
      if (mode === 'write') {
        const over = work.catch(() => {})
        for (const table of tables) this.#lastWrite.set(table, over)
      }
      return work
    })
  }
}

/** The tables as they were when a transaction began, with the transaction's writes. */
class MemoryTables implements SyncTables {
  readonly changed = new Map<Table, (readonly [string, StoreValue])[]>()
  readonly #initial: ReadonlyMap<Table, Entries>

  constructor(tables: readonly Table[], committed: ReadonlyMap<Table, Entries>) {
    this.#initial = new Map(tables.map((table) => [table, committed.get(table) ?? []]))
  }

  has(table: Table, key: string): boolean {
    const entries = this.#read(table)
    return entries[indexOf(entries, key)]?.[0] === key
  }

  get(table: Table, key: string): StoreValue | undefined {
    const entries = this.#read(table)
    const entry = entries[indexOf(entries, key)]
    return entry?.[0] === key ? structuredClone(entry[1]) : undefined
  }

  keys(table: Table, range: KeyRange): readonly string[] {
    return slice(this.#read(table), range).map(([key]) => key)
  }

  values(table: Table, range: KeyRange): readonly StoreValue[] {
    return slice(this.#read(table), range).map(([, value]) => structuredClone(value))
  }

  put(table: Table, key: string, value: StoreValue): void {
    const entries = this.#changedEntries(table)
    const [from, to] = placeOf(entries, key)
    entries.splice(from, to - from, [key, structuredClone(value)])
  }

  delete(table: Table, key: string | KeySpan): void {
    const entries = this.#changedEntries(table)
    const [from, to] = typeof key === 'string' ? placeOf(entries, key) : bounds(entries, key)
    entries.splice(from, to - from)
  }

  #read(table: Table): Entries {
    return this.changed.get(table) ?? this.#initial.get(table) ?? []
  }

  #changedEntries(table: Table): (readonly [string, StoreValue])[] {
    const entries = this.changed.get(table) ?? [...this.#read(table)]
    this.changed.set(table, entries)
    return entries
  }
}

/** The index of `key`, or the index to insert it at. */
function indexOf(entries: Entries, key: string): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = entries[middle]
    if (entry && entry[0] < key) low = middle + 1
    else high = middle
  }
  return low
}

function placeOf(entries: Entries, key: string): readonly [from: number, to: number] {
  const index = indexOf(entries, key)
  return [index, entries[index]?.[0] === key ? index + 1 : index]
}

/** The indexes of the span. In an empty span, the end may be before the beginning. */
function bounds(entries: Entries, { from, to }: KeySpan): readonly [from: number, to: number] {
  const first = from === undefined ? 0 : indexOf(entries, from)
  return [first, to === undefined ? entries.length : indexOf(entries, to)]
}

function slice(entries: Entries, range: KeyRange = {}): Entries {
  const entriesInRange = entries.slice(...bounds(entries, range))
  return (range.reverse ? entriesInRange.reverse() : entriesInRange).slice(0, range.limit)
}

function closed(): StorageError {
  return new StorageError('closed', 'This connection is closed.')
}
