import type { Store, StoreConnection, TransactionOptions } from '../../src/storage/store.ts'

type Run = (options?: TransactionOptions) => Promise<unknown>

/** `inner`, whose transactions `act` runs by calling `run`, or does not. */
export function around(
  inner: Store,
  act: (options: TransactionOptions, run: Run, connection: StoreConnection) => Promise<unknown>,
): Store {
  const wrapped = (connection: StoreConnection): StoreConnection => ({
    ...connection,
    transaction: (options, body) =>
      act(options, (own = options) => connection.transaction(own, body), connection) as Promise<never>,
  })
  return { ...inner, open: async (name) => wrapped(await inner.open(name)) }
}

/** `inner`, which before each transaction does what `before` does: waits with it, or fails with it. */
export function watching(
  inner: Store,
  before: (options: TransactionOptions) => void | Promise<void> | undefined,
): Store {
  return around(inner, async (options, run) => {
    await before(options)
    return run()
  })
}

/** Whether it writes the user's transactions. */
export function writesOutbox({ tables, mode }: TransactionOptions): boolean {
  return tables.includes('outbox') && mode === 'write'
}

/** Whether it reads the data, as a restart does, and a lazy type that is used. */
export function readsPages({ tables, mode }: TransactionOptions): boolean {
  return tables.includes('pages') && mode === 'read'
}
