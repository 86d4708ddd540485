import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import { Loss } from './loss.ts'
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

/**
 * Keeps everything in memory, for as long as this store is referred to: for tests, and where nothing else is to be
 * had. It behaves as a durable store does, copies and order of transactions included.
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
    async destroy(name) {
      const database = databases.get(name)
      databases.delete(name)
      database?.closeAll()
    },
  }
}

/** In the order of the keys. What is committed is never changed: a write makes another array. */
type Entries = readonly (readonly [key: string, value: StoreValue])[]

class MemoryDatabase {
  readonly #committed = new Map<Table, Entries>()
  /** Resolves when the last write transaction over a table is over. */
  readonly #lastWrite = new Map<Table, Promise<unknown>>()
  readonly #open = new Map<StoreConnection, Loss>()

  connect(): StoreConnection {
    const loss = new Loss()
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
    const aborted = rejectionOf(signal)
    const turn = Promise.all(tables.map((table) => this.#lastWrite.get(table)))
    const work = turn.then(async () => {
      signal?.throwIfAborted()
      const tx = new MemoryTransaction(tables, mode, this.#committed)
      try {
        const result = await Promise.race([body(tx), aborted.promise])
        if (tx.failure) throw tx.failure.error
        for (const [table, entries] of tx.changed) this.#committed.set(table, entries)
        return result
      } finally {
        tx.end()
      }
    })
    if (mode === 'write') {
      const over = work.catch(() => {})
      for (const table of tables) this.#lastWrite.set(table, over)
    }
    return Promise.race([aborted.promise, work]).finally(aborted.forget)
  }
}

/** A promise that rejects when `signal` is aborted. */
function rejectionOf(signal: AbortSignal | undefined) {
  let forget = () => {}
  const promise = new Promise<never>((_, reject) => {
    forget = onAbort(signal, () => {
      reject(new StorageError('aborted', 'The transaction was aborted by its signal.'))
    })
  })
  return { promise, forget }
}

class MemoryTransaction implements StoreTransaction {
  /** What this transaction made of each table that it wrote to. */
  readonly changed = new Map<Table, (readonly [string, StoreValue])[]>()
  /** What the first write that failed did fail of. */
  failure: { readonly error: unknown } | undefined
  readonly #snapshot = new Map<Table, Entries>()
  readonly #mode: 'read' | 'write'
  #over = false

  constructor(
    tables: readonly Table[],
    mode: 'read' | 'write',
    committed: { get(table: Table): Entries | undefined },
  ) {
    this.#mode = mode
    for (const table of tables) this.#snapshot.set(table, committed.get(table) ?? [])
  }

  end(): void {
    this.#over = true
  }

  async get(table: Table, key: string): Promise<StoreValue | undefined> {
    const entries = this.#read(table)
    const entry = entries[indexOf(entries, key)]
    return entry?.[0] === key ? structuredClone(entry[1]) : undefined
  }

  async keys(table: Table, range?: KeyRange): Promise<readonly string[]> {
    return slice(this.#read(table), range).map(([key]) => key)
  }

  async values(table: Table, range?: KeyRange): Promise<readonly StoreValue[]> {
    return slice(this.#read(table), range).map(([, value]) => structuredClone(value))
  }

  put(table: Table, key: string, value: StoreValue): void {
    this.#write(table, (entries) => {
      const [from, to] = placeOf(entries, key)
      entries.splice(from, to - from, [key, structuredClone(value)])
    })
  }

  add(table: Table, key: string, value: StoreValue): void {
    this.#write(table, (entries) => {
      const [from, to] = placeOf(entries, key)
      if (to > from) throw new StorageError('fenced', `Another client has written ${key} since.`)
      entries.splice(from, 0, [key, structuredClone(value)])
    })
  }

  delete(table: Table, key: string | KeySpan): void {
    this.#write(table, (entries) => {
      const [from, to] = typeof key === 'string' ? placeOf(entries, key) : bounds(entries, key)
      entries.splice(from, to - from)
    })
  }

  #read(table: Table): Entries {
    const entries = this.changed.get(table) ?? this.#snapshot.get(table)
    if (this.#over) throw new StorageError('aborted', 'This transaction is over.')
    if (!entries) throw new StorageError('aborted', `This transaction does not cover the table ${table}.`)
    return entries
  }

  #write(table: Table, change: (entries: (readonly [string, StoreValue])[]) => void): void {
    try {
      if (this.#mode === 'read') throw new StorageError('aborted', 'This transaction may only read.')
      const entries = this.#read(table)
      const own = this.changed.get(table) ?? [...entries]
      this.changed.set(table, own)
      change(own)
    } catch (error) {
      this.failure ??= { error }
    }
  }
}

/** Where `key` stands, or would. */
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

/** Where the span is, its end before its beginning where it is empty. */
function bounds(entries: Entries, { from, to }: KeySpan): readonly [from: number, to: number] {
  const first = from === undefined ? 0 : indexOf(entries, from)
  return [first, to === undefined ? entries.length : indexOf(entries, to)]
}

function slice(entries: Entries, range: KeyRange = {}): Entries {
  const within = entries.slice(...bounds(entries, range))
  return (range.reverse ? within.reverse() : within).slice(0, range.limit)
}

function closed(): StorageError {
  return new StorageError('closed', 'This connection is closed.')
}
