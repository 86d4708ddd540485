import { whileAlive, withDeadline } from '../base/deadline.ts'
import type { Clock } from '../base/environment.ts'
import { StorageError } from '../base/errors.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Store, StoreConnection, StoreTransaction } from './store.ts'

export interface TimeLimits {
  /** The longest that opening or destroying may take, in ms. */
  readonly openMs: number
  /** The longest that a transaction may go without an answer to one of its reads, or to its end, in ms. */
  readonly transactionMs: number
}

const defaultTimeLimits: TimeLimits = { openMs: 10_000, transactionMs: 15_000 }

/**
 * `store`, with every promise settling in bounded time. Where another tab is frozen, opening may get no event at
 * all; a force-closed connection may leave a transaction without an end.
 *
 * What is late is a StorageError: `blocked` for opening and destroying, `timeout` for a transaction, which is then
 * aborted. Whether an engine that no longer answers had completed it is not known.
 */
export function withTimeLimits(store: Store, clock: Clock, limits = defaultTimeLimits): Store {
  const { openMs, transactionMs } = limits
  const opened = <T>(promise: Promise<T>) => unlessBlocked(clock, promise, openMs)
  return {
    kind: store.kind,
    async open(name) {
      const opening = store.open(name)
      try {
        return limitTransactions(await opened(opening), clock, transactionMs)
      } catch (error) {
        // One that opens after all must not stay open: nobody has it, and it would block others.
        opening.then(
          (connection) => connection.close(),
          () => {},
        )
        throw error
      }
    },
    destroy: (name) => opened(store.destroy(name)),
  }
}

/** Settles as `promise` does, or rejects with a StorageError of code `blocked` once `ms` have gone by. */
export function unlessBlocked<T>(
  clock: Clock,
  promise: Promise<T>,
  ms = defaultTimeLimits.openMs,
): Promise<T> {
  return withDeadline(clock, ms, promise, () => {
    const advice = 'another tab may hold it: close the other tabs, or reload'
    const message = `The local database did not answer within ${ms} ms; ${advice}.`
    return new StorageError('blocked', message, { retryable: true })
  })
}

function limitTransactions(connection: StoreConnection, clock: Clock, ms: number): StoreConnection {
  return {
    async transaction(options, body) {
      const own = new AbortController()
      const undo = onAbort(options.signal, () => own.abort())
      try {
        return await whileAlive(
          clock,
          ms,
          (alive) =>
            connection.transaction({ ...options, signal: own.signal }, (tx) => body(reporting(tx, alive))),
          () => late(ms),
        )
      } catch (error) {
        own.abort()
        throw error
      } finally {
        undo()
      }
    },
    close: () => connection.close(),
    onLost: (listener) => connection.onLost(listener),
  }
}

function late(ms: number): StorageError {
  return new StorageError('timeout', `The local database did not answer within ${ms} ms.`, {
    retryable: true,
  })
}

/** `tx`, with a call of `alive` at each answer: a long transaction is not a late one. */
function reporting(tx: StoreTransaction, alive: () => void): StoreTransaction {
  return {
    get: (table, key) => tx.get(table, key).finally(alive),
    keys: (table, range) => tx.keys(table, range).finally(alive),
    values: (table, range) => tx.values(table, range).finally(alive),
    put: (table, key, value) => tx.put(table, key, value),
    add: (table, key, value) => tx.add(table, key, value),
    delete: (table, key) => tx.delete(table, key),
  }
}
