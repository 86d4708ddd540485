import { isSyncError } from '../../base/errors.ts'
import type {
  Store,
  StoreConnection,
  StoreTransaction,
  StoreValue,
  Table,
  TransactionOptions,
} from '../store.ts'

/** One test that every store must pass. */
export interface StoreContractCase {
  /** The expected behaviour, as a sentence: a title for the test. */
  readonly name: string
  /** Resolves if the store passes. Rejects with an Error that names the expected and the actual result. */
  run(context: StoreContractContext): Promise<void>
}

export interface StoreContractContext {
  readonly store: Store
  /** The name of a database that does not exist and is used by this case only. */
  readonly name: string
}

/** A case with one connection. Afterwards, the connection is closed and its database destroyed. */
export function withConnection(
  name: string,
  run: (connection: StoreConnection, context: StoreContractContext) => Promise<void>,
): StoreContractCase {
  return {
    name,
    async run(context) {
      const connection = await context.store.open(context.name)
      try {
        await run(connection, context)
      } finally {
        connection.close()
        await context.store.destroy(context.name)
      }
    },
  }
}

export function write<T>(
  connection: StoreConnection,
  body: (tx: StoreTransaction) => Promise<T>,
  options: Partial<TransactionOptions> = {},
): Promise<T> {
  return connection.transaction({ tables: ['meta'], mode: 'write', ...options }, body)
}

export function read<T>(connection: StoreConnection, body: (tx: StoreTransaction) => Promise<T>): Promise<T> {
  return connection.transaction({ tables: ['meta'], mode: 'read' }, body)
}

export function put(
  connection: StoreConnection,
  entries: { readonly [key: string]: StoreValue },
): Promise<void> {
  return write(connection, async (tx) => {
    for (const key of Object.keys(entries)) tx.put('meta', key, entries[key] ?? null)
  })
}

export function get(connection: StoreConnection, key: string): Promise<StoreValue | undefined> {
  return read(connection, (tx) => tx.get('meta', key))
}

export function keys(connection: StoreConnection, table: Table = 'meta'): Promise<readonly string[]> {
  return connection.transaction({ tables: [table], mode: 'read' }, (tx) => tx.keys(table))
}

/** Throws unless both values have the same JSON, including unpaired surrogates and the order of fields. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (found !== wanted) throw new Error(`${what}: expected ${excerpt(wanted)}, got ${excerpt(found)}.`)
}

/** Resolves with the reason of the rejection. Throws if `promise` resolves. */
export async function rejection(promise: Promise<unknown>, what: string): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error(`${what}: expected a rejection, but it resolved.`)
}

/** Throws unless `promise` rejects with a StorageError, of one of `codes` if any are passed. */
export async function storageError(
  promise: Promise<unknown>,
  what: string,
  ...codes: string[]
): Promise<void> {
  const error = await rejection(promise, what)
  if (!isSyncError(error, 'StorageError')) throw new Error(`${what}: expected a StorageError, got ${error}.`)
  if (codes.length > 0 && !codes.includes(error.code)) {
    throw new Error(`${what}: expected the code ${codes.join(' or ')}, got ${error.code}.`)
  }
}

function excerpt(text: string | undefined): string {
  return text === undefined || text.length <= 200 ? String(text) : `${text.slice(0, 200)}…`
}
