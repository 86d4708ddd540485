import { Disposer } from '../base/disposer.ts'
import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import { closedConnection, transactionFailure } from './indexeddb-failures.ts'
import { resultOf } from './indexeddb-request.ts'
import type { KeyRange, KeySpan, StoreTransaction, StoreValue, Table, TransactionOptions } from './store.ts'

/**
 * Runs one transaction. If the browser refuses it without an error of its own, runs it a second time. `isDeliberate`:
 * whether this code closed the connection on purpose.
 */
export async function transact<T>(
  db: IDBDatabase,
  isDeliberate: () => boolean,
  options: TransactionOptions,
  body: (tx: StoreTransaction) => T | Promise<T>,
  isFirst = true,
): Promise<T> {
  const { signal } = options
  if (signal?.aborted) throw abortedBySignal()
  const tx = begin(db, isDeliberate, options)
  let failure: unknown
  const fail = (error: unknown) => {
    failure ??= error
    abort(tx)
  }
  const disposer = new Disposer()
  disposer.add(onAbort(signal, () => abort(tx)))
  const lost = rejectWhenLost(tx, disposer)
  const end = endOf(tx)
  try {
    const { handle, writes } = handleOf(tx, fail)
    const returned = body(handle)
    // Commit a single write now: by default, the browser commits only after this turn. Do not commit several writes:
    // Firefox 153 may store a part of them.
    if (returned === undefined && writes() === 1) tx.commit()
    const [result] = await Promise.race([Promise.all([returned, end]), lost])
    // If the body awaited anything else, the transaction may have completed before all writes were made.
    if (failure !== undefined) throw failure
    return result
  } catch (error) {
    abort(tx)
    await Promise.race([end, lost]).catch(() => {})
    if (signal?.aborted) throw abortedBySignal()
    // When site data is cleared, a browser may end the transactions before it reports that it has closed the connection
    // (Firefox 153, WebKitGTK 2.50, at times Chromium 156). Wait for the report, or until a new transaction proves that
    // the connection is open.
    await Promise.race([lost, endOf(begin(db, isDeliberate, nothing))]).catch((cause) => {
      throw closedConnection(!isDeliberate(), cause)
    })
    // The error of an aborted request says only that the transaction was aborted; `tx.error` has the reason.
    const cause = failure ?? tx.error
    // After a transaction without room, Firefox 153 allows only deletes in the next one. WebKitGTK 2.50 ends the
    // transactions of a page that it moves to the back/forward cache.
    if (isFirst && isInvalidState(cause)) return transact(db, isDeliberate, options, body, false)
    throw transactionFailure(cause ?? error)
  } finally {
    disposer.dispose()
  }
}

/** The options of a transaction that makes no request, so that an open connection completes it at once. */
const nothing: TransactionOptions = { tables: ['meta'], mode: 'read' }

function begin(
  db: IDBDatabase,
  isDeliberate: () => boolean,
  { tables, mode, durability = 'relaxed' }: TransactionOptions,
): IDBTransaction {
  try {
    return db.transaction([...tables], mode === 'write' ? 'readwrite' : 'readonly', { durability })
  } catch (cause) {
    throw closedConnection(!isDeliberate(), cause)
  }
}

function abort(tx: IDBTransaction): void {
  try {
    tx.abort()
  } catch {
    // The transaction has ended or is about to complete: its outcome is valid.
  }
}

/** Rejects if the browser ends `tx` without an event on it. `disposer` removes the listeners. */
function rejectWhenLost(tx: IDBTransaction, disposer: Disposer): Promise<never> {
  return new Promise((_, reject) => {
    // A transaction begun when the browser closes the connection gets no event (Chromium 156).
    const onClose = () => reject(closedConnection(true))
    // Firefox 153 ends the transactions of a page that it moves to the back/forward cache, and sends no event.
    const onShow = () => {
      try {
        tx.objectStore('')
      } catch (error) {
        if (isInvalidState(error)) reject(closedConnection(true, error))
      }
    }
    tx.db.addEventListener('close', onClose)
    globalThis.addEventListener?.('pageshow', onShow)
    disposer.add(() => {
      tx.db.removeEventListener('close', onClose)
      globalThis.removeEventListener?.('pageshow', onShow)
    })
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
  const attempt = (makeRequest: () => IDBRequest) => {
    writes += 1
    try {
      const request = makeRequest()
      // Note the error here: Firefox 153 completes a transaction that was committed before the error, and WebKitGTK
      // 2.50 aborts the transaction without a reason.
      request.addEventListener('error', () => {
        if (request.error?.name !== 'AbortError') fail(request.error)
      })
    } catch (error) {
      fail(error)
    }
  }
  // All reads are async functions, so that they reject and never throw if the transaction has ended.
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
      if (range.reverse && range.limit === 1) return lastKey(table, range)
      const found = await resultOf(tx.objectStore(table).getAllKeys(queryOf(range), forwardLimit(range)))
      return inOrder(found.map(String), range)
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

/** IndexedDB throws on an empty range (Indexed Database API 3.0, section 4.7). */
function isEmpty({ from, to, limit }: KeyRange): boolean {
  return limit === 0 || (from !== undefined && to !== undefined && from >= to)
}

/** Read all values and cut the end off here: a cursor would also see values written while it moves. */
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
