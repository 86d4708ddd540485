import type { Clock } from '../../src/base/environment.ts'
import { StorageError } from '../../src/base/errors.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type {
  Store,
  StoreConnection,
  StoreTransaction,
  Table,
  TransactionOptions,
} from '../../src/storage/store.ts'

/** A moment in the life of a store, told before it happens; `complete` is told before the caller hears of it. */
export interface Step {
  readonly name: 'open' | 'begin' | 'get' | 'keys' | 'values' | 'put' | 'delete' | 'end' | 'complete'
  readonly mode?: TransactionOptions['mode']
  readonly table?: Table
  readonly key?: string
  /** The transaction that it belongs to: it can be aborted, and read from to keep it alive. */
  readonly tx?: StoreTransaction
  readonly abort?: () => void
}

export interface StepListener {
  /** What it returns is awaited first; what it throws is thrown instead. */
  awaited(step: Step): Promise<void> | undefined
  /** The same for what happens at once, without waiting. */
  immediate(step: Step): void
}

/** `store`, with a listener that hears of every step and may hold it up or make it fail. */
export function withSteps(store: Store, listener: StepListener): Store {
  return {
    kind: store.kind,
    isPerOrigin: store.isPerOrigin ?? false,
    async open(name) {
      await listener.awaited({ name: 'open' })
      return stepping(await store.open(name), listener)
    },
    destroy: (name) => store.destroy(name),
  }
}

function stepping(connection: StoreConnection, { awaited, immediate }: StepListener): StoreConnection {
  /** At once, if nothing is to be awaited: a read sees what was written before it, and not what comes after. */
  const after = async <T>(step: Step, read: () => Promise<T>): Promise<T> => {
    const wait = awaited(step)
    if (wait) await wait
    return read()
  }
  return {
    async transaction(options, body) {
      const { mode, signal } = options
      const own = new AbortController()
      const abort = () => own.abort()
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort)
      await awaited({ name: 'begin', mode, abort })
      const result = await connection.transaction({ ...options, signal: own.signal }, async (tx) => {
        const common = { mode, tx, abort }
        let failure: { readonly error: unknown } | undefined
        const attempt = (step: Step, change: () => void) => {
          try {
            immediate(step)
            change()
          } catch (error) {
            failure ??= { error }
          }
        }
        const inside = await body({
          get: (table, key) => after({ name: 'get', ...common, table, key }, () => tx.get(table, key)),
          keys: (table, range) => after({ name: 'keys', ...common, table }, () => tx.keys(table, range)),
          values: (table, range) =>
            after({ name: 'values', ...common, table }, () => tx.values(table, range)),
          put: (table, key, value) =>
            attempt({ name: 'put', ...common, table, key }, () => tx.put(table, key, value)),
          delete: (table, key) =>
            attempt({ name: 'delete', ...common, table, ...(typeof key === 'string' && { key }) }, () =>
              tx.delete(table, key),
            ),
        })
        if (failure) throw failure.error
        await awaited({ name: 'end', ...common })
        return inside
      })
      await awaited({ name: 'complete', mode, abort })
      return result
    },
    close: () => connection.close(),
    onLost: (lost) => connection.onLost(lost),
  }
}

/** `store`, whose transactions each begin and end with a wait of `ms`. */
export function slowStore(store: Store, clock: Clock, ms: number): Store {
  const wait = () => new Promise<void>((resolve) => void clock.after(ms, resolve))
  return withSteps(store, {
    awaited: ({ name }) => (ms > 0 && (name === 'begin' || name === 'complete') ? wait() : undefined),
    immediate() {},
  })
}

/** A store in which nothing can be put while it is full. Removing the pages makes room. */
export class FullStore {
  full = false
  readonly store: Store

  constructor(inner = memoryStore()) {
    this.store = withSteps(inner, {
      awaited: () => undefined,
      immediate: ({ name, table }) => {
        if (name === 'put' && this.full) throw new StorageError('quota', 'The disk is full.')
        if (name === 'delete' && table === 'pages') this.full = false
      },
    })
  }
}
