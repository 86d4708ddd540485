import { Disposer } from '../base/disposer.ts'
import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import type { ConnectionLost } from './connection-lost.ts'
import { closedConnection, transactionFailure } from './indexeddb-failures.ts'
import { resultOf } from './indexeddb-request.ts'
import type { KeyRange, KeySpan, StoreTransaction, StoreValue, Table, TransactionOptions } from './store.ts'

/** How a connection comes to its end. */
export interface Ending {
  /** Tells when the engine closes it: what is begun just then gets no event of its own (Chromium 156). */
  readonly forced: ConnectionLost
  /** Whether it was closed here, on purpose. */
  readonly meant: () => boolean
}

/** Runs one transaction; once more where an engine has refused the first for no reason of its own. */
export async function transact<T>(
  db: IDBDatabase,
  ending: Ending,
  options: TransactionOptions,
  body: (tx: StoreTransaction) => T | Promise<T>,
  isFirst = true,
): Promise<T> {
  const { forced, meant } = ending
  const { signal } = options
  if (signal?.aborted) throw abortedBySignal()
  const tx = begin(db, meant, options)
  let failure: unknown
  const fail = (error: unknown) => {
    failure ??= error
    abort(tx)
  }
  const undo = new Disposer()
  undo.add(onAbort(signal, () => abort(tx)))
  const cut = cutOf(tx, forced, undo)
  const end = endOf(tx)
  try {
    const { handle, writes } = handleOf(tx, fail)
    const given = body(handle)
    // By itself an engine commits only once this turn is over. Of several writes, Firefox 153 would keep some.
    if (given === undefined && writes() === 1) tx.commit()
    const [result] = await Promise.race([Promise.all([given, end]), cut])
    // It may have completed under a body that awaited something else, before all was put.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    abort(tx)
    await Promise.race([end, cut]).catch(() => {})
    if (signal?.aborted) throw abortedBySignal()
    // Each engine may end the transactions of a connection that it closes before it tells of that.
    await Promise.race([cut, endOf(begin(db, meant, nothing))]).catch((cause) => {
      throw closedConnection(!meant(), cause)
    })
    // A request that failed because its transaction was aborted does not know why; the transaction does.
    const cause = failure ?? tx.error
    // Firefox 153 lets the first transaction after one without room do nothing but delete, and WebKitGTK 2.50 ends those
    // of a page that it puts aside.
    if (isFirst && isInvalidState(cause)) return transact(db, ending, options, body, false)
    throw transactionFailure(cause ?? error)
  } finally {
    undo.dispose()
  }
}

/** What an open connection completes at once. */
const nothing: TransactionOptions = { tables: ['meta'], mode: 'read' }

function begin(
  db: IDBDatabase,
  meant: Ending['meant'],
  { tables, mode, durability = 'relaxed' }: TransactionOptions,
): IDBTransaction {
  try {
    return db.transaction([...tables], mode === 'write' ? 'readwrite' : 'readonly', { durability })
  } catch (cause) {
    throw closedConnection(!meant(), cause)
  }
}

function abort(tx: IDBTransaction): void {
  try {
    tx.abort()
  } catch {
    // It is over, or about to complete: then that stands.
  }
}

/** Rejects where the engine ends `tx` without an event of its own; `undo` ends the waiting for that. */
function cutOf(tx: IDBTransaction, forced: ConnectionLost, undo: Disposer): Promise<never> {
  return new Promise((_, reject) => {
    undo.add(forced.on(reject))
    // Firefox 153 ends what is under way in a page that it puts aside, and never says so.
    const onShow = () => {
      try {
        tx.objectStore('')
      } catch (error) {
        if (isInvalidState(error)) reject(closedConnection(true, error))
      }
    }
    globalThis.addEventListener?.('pageshow', onShow)
    undo.add(() => globalThis.removeEventListener?.('pageshow', onShow))
  })
}

function isInvalidState(error: unknown): boolean {
  return String(error).startsWith('InvalidState')
}

function endOf(tx: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.addEventListener('complete', () => resolve())
    tx.addEventListener('abort', () => reject(tx.error ?? new DOMException('', 'AbortError')))
  })
}

function handleOf(tx: IDBTransaction, fail: (error: unknown) => void) {
  let writes = 0
  const attempt = (ask: () => IDBRequest) => {
    writes += 1
    try {
      const request = ask()
      // Firefox 153 completes a transaction that was committed before this, and WebKitGTK 2.50 does not say why it aborts it.
      request.addEventListener('error', () => {
        if (request.error?.name !== 'AbortError') fail(request.error)
      })
    } catch (error) {
      fail(error)
    }
  }
  // All reads are async functions: they reject where the transaction is over, and never throw.
  const keys = async (table: Table, range: KeyRange): Promise<string[]> => {
    const found = await resultOf(tx.objectStore(table).getAllKeys(queryOf(range), forwardLimit(range)))
    return found.map(String)
  }
  const lastKey = async (table: Table, range: KeyRange): Promise<string[]> => {
    const cursor = await resultOf(tx.objectStore(table).openKeyCursor(queryOf(range), 'prev'))
    return cursor ? [String(cursor.key)] : []
  }
  const handle: StoreTransaction = {
    async get(table, key) {
      return resultOf<StoreValue | undefined>(tx.objectStore(table).get(key))
    },
    async keys(table, range = {}) {
      if (isEmpty(range)) return []
      return range.reverse && range.limit === 1
        ? lastKey(table, range)
        : inOrder(await keys(table, range), range)
    },
    async values(table, range = {}) {
      if (isEmpty(range)) return []
      const request = tx.objectStore(table).getAll(queryOf(range), forwardLimit(range))
      return inOrder(await resultOf<StoreValue[]>(request), range)
    },
    put: (table, key, value) => attempt(() => tx.objectStore(table).put(value, key)),
    add: (table, key, value) => attempt(() => tx.objectStore(table).add(value, key)),
    delete(table, key) {
      if (typeof key === 'string') attempt(() => tx.objectStore(table).delete(key))
      else if (!isEmpty(key)) attempt(() => tx.objectStore(table).delete(queryOf(key)))
    },
  }
  return { handle, writes: () => writes }
}

/** An empty range is an error to IndexedDB (Indexed Database API 3.0, section 4.7). */
function isEmpty({ from, to, limit }: KeyRange): boolean {
  return limit === 0 || (from !== undefined && to !== undefined && from >= to)
}

/** A cursor would see what is written while it moves on, so what is wanted from the end is cut from all of it. */
function inOrder<T>(found: T[], { reverse, limit }: KeyRange): readonly T[] {
  return reverse ? found.reverse().slice(0, limit) : found
}

function forwardLimit({ reverse, limit }: KeyRange): number | undefined {
  return reverse ? undefined : limit
}

function queryOf({ from = '', to }: KeySpan): IDBKeyRange {
  return to === undefined ? IDBKeyRange.lowerBound(from) : IDBKeyRange.bound(from, to, false, true)
}

function abortedBySignal(): StorageError {
  return new StorageError('aborted', 'The transaction was aborted by its signal.')
}
