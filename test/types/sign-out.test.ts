import { expectTypeOf, test } from 'vitest'
import {
  deleteDatabase,
  isSyncError,
  type LocalDatabase,
  type LogoutOptions,
  type LogoutResult,
  listDatabases,
  type PendingError,
  type StorageStatus,
  SyncClient,
} from '../../src/index.ts'

const client = new SyncClient({ baseUrl: 'https://api.example.com/sync/v1' })
const thrown: unknown = undefined

test('`logout` takes one of three choices, or none, and resolves with numbers', () => {
  expectTypeOf(client.logout).parameter(0).toEqualTypeOf<LogoutOptions | undefined>()
  expectTypeOf<LogoutOptions['pending']>().toEqualTypeOf<'flush' | 'keep' | 'discard' | undefined>()
  expectTypeOf<LogoutOptions['timeoutMs']>().toEqualTypeOf<number | undefined>()
  expectTypeOf(client.logout).returns.resolves.toEqualTypeOf<LogoutResult>()
  expectTypeOf<LogoutResult>().toEqualTypeOf<
    Readonly<Record<'sent' | 'kept' | 'discarded' | 'rejected' | 'silentTabs', number>>
  >()
})

test('the guard gives a PendingError with both numbers', () => {
  if (!isSyncError(thrown, 'PendingError')) return
  expectTypeOf(thrown).toEqualTypeOf<PendingError>()
  expectTypeOf(thrown.code).toEqualTypeOf<'pending'>()
  expectTypeOf(thrown.pending).toBeNumber()
  expectTypeOf(thrown.rejected).toBeNumber()
})

test('a database of the list is deleted by its name', () => {
  expectTypeOf(listDatabases).returns.resolves.toEqualTypeOf<readonly LocalDatabase[]>()
  expectTypeOf<LocalDatabase>().toEqualTypeOf<
    Readonly<Record<'name' | 'bootstrapUrl' | 'identity', string>>
  >()
  expectTypeOf(deleteDatabase).parameter(0).toBeString()
  expectTypeOf(deleteDatabase).returns.resolves.toBeVoid()
})

test('the status says how the storage is, as far as the browser says it', () => {
  expectTypeOf(client.status.storage).toEqualTypeOf<StorageStatus>()
  expectTypeOf<StorageStatus['kind']>().toEqualTypeOf<'durable' | 'memory'>()
  expectTypeOf<StorageStatus['persisted']>().toEqualTypeOf<boolean | undefined>()
  expectTypeOf<StorageStatus['usage' | 'quota' | 'lost']>().toEqualTypeOf<number | undefined>()
  expectTypeOf(client.requestPersistence).returns.resolves.toBeBoolean()
  expectTypeOf(client.status.lifecycle).extract<'signed-out'>().toEqualTypeOf<'signed-out'>()
})
