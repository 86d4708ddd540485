import { whileAlive, withDeadline } from '../base/deadline.ts'
import type { Clock } from '../base/environment.ts'
import { StorageError } from '../base/errors.ts'
import type { Debug } from '../base/logger.ts'
import { onAbort } from '../base/on-abort.ts'
import type { Store, StoreConnection, StoreTransaction } from './store.ts'

export interface TimeLimits {
  /** Maximum time for opening or destroying a database, in ms. */
  readonly openMs: number
  /** Maximum time that a transaction may wait for the result of one read, or for its end, in ms. */
  readonly transactionMs: number
}

const defaultTimeLimits: TimeLimits = { openMs: 10_000, transactionMs: 15_000 }

/**
 * Returns `store` with a time limit on every promise. Without a limit, some promises never settle: opening may get no
 * event if another tab is frozen, and a transaction may never end if the browser closes its connection.
 *
 * A call that takes too long rejects with a StorageError: of code `blocked` for opening and destroying, of code
 * `timeout` for a transaction, which is then aborted. A transaction that timed out may have completed all the same.
 *
 * `debug`: called after each transaction, with its time in ms.
 */
export function withTimeLimits(store: Store, clock: Clock, limits = defaultTimeLimits, debug?: Debug): Store {
  const { openMs, transactionMs } = limits
  const opened = <T>(promise: Promise<T>) => unlessBlocked(clock, promise, openMs)
  return {
    kind: store.kind,
    async open(name) {
      const opening = store.open(name)
      try {
        return limitTransactions(await opened(opening), clock, transactionMs, debug)
      } catch (error) {
        // If the database opens after all, close it: an unused connection would block other tabs.
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

/** Settles as `promise` does, but rejects with a StorageError of code `blocked` after `ms` milliseconds. */
export function unlessBlocked<T>(
  clock: Clock,
  promise: Promise<T>,
  ms = defaultTimeLimits.openMs,
): Promise<T> {
  return withDeadline(clock, ms, promise, () =>
    lateError('blocked', ms, '; another tab may hold it: close the other tabs, or reload'),
  )
}

function limitTransactions(
  connection: StoreConnection,
  clock: Clock,
  ms: number,
  debug: Debug | undefined,
): StoreConnection {
  return {
    async transaction(options, body) {
      const { tables, mode } = options
      const begunAt = clock.now()
      const controller = new AbortController()
      const stopListening = onAbort(options.signal, () => controller.abort())
      try {
        return await whileAlive(
          clock,
          ms,
          (alive) =>
            connection.transaction({ ...options, signal: controller.signal }, (tx) =>
              body(reporting(tx, alive)),
            ),
          () => lateError('timeout', ms),
        )
      } catch (error) {
        controller.abort()
        throw error
      } finally {
        stopListening()
        debug?.(`store: ${mode} ${tables.join(', ')}`, { ms: clock.now() - begunAt })
      }
    },
    close: () => connection.close(),
    onLost: (listener) => connection.onLost(listener),
  }
}

function lateError(code: 'blocked' | 'timeout', ms: number, advice = ''): StorageError {
  return new StorageError(code, `The local database did not answer within ${ms} ms${advice}.`, {
    retryable: true,
  })
}

/** Returns `tx` with a call of `alive` after each result, so that a long transaction does not count as a late one. */
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
