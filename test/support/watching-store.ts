import type { Store, StoreConnection, TransactionOptions } from '../../src/storage/store.ts'

/** `inner`, which before each transaction does what `before` does: waits with it, or fails with it. */
export function watching(
  inner: Store,
  before: (options: TransactionOptions) => void | Promise<void> | undefined,
): Store {
  const wrapped = (connection: StoreConnection): StoreConnection => ({
    ...connection,
    transaction: async (options, body) => {
      await before(options)
      return connection.transaction(options, body)
    },
  })
  return { ...inner, open: async (name) => wrapped(await inner.open(name)) }
}

/** Whether it writes the user's transactions. */
export function writesOutbox({ tables, mode }: TransactionOptions): boolean {
  return tables.includes('outbox') && mode === 'write'
}

/** Whether it reads the data, as a restart does, and a lazy type that is used. */
export function readsPages({ tables, mode }: TransactionOptions): boolean {
  return tables.includes('pages') && mode === 'read'
}
