import { expectTypeOf, test } from 'vitest'
import { type HttpError, isSyncError, type RejectedError, type SyncError } from '../../src/index.ts'

const thrown: unknown = undefined

test('the guard gives the class of a name, with all that it has', () => {
  if (isSyncError(thrown, 'HttpError')) expectTypeOf(thrown).toEqualTypeOf<HttpError>()
  if (isSyncError(thrown, 'RejectedError')) expectTypeOf(thrown.reason).toBeString()
})

test('without a name it gives an error, whose name tells its class', () => {
  if (!isSyncError(thrown)) return
  expectTypeOf(thrown).toExtend<SyncError>()
  if (thrown.name === 'RejectedError') expectTypeOf(thrown).toEqualTypeOf<RejectedError>()
  if (thrown.name === 'HttpError') expectTypeOf(thrown.status).toBeNumber()
})
