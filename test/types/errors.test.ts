import { expectTypeOf, test } from 'vitest'
import {
  type HttpError,
  type HttpErrorDetails,
  isSyncError,
  type RejectedError,
  type StorageError,
  type SyncError,
  type SyncErrorOptions,
  type ValidationError,
  type ValidationErrorOptions,
} from '../../src/index.ts'

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

test('what an error is made of has a name', () => {
  type Given<Args extends readonly unknown[], Place extends number> = NonNullable<Args[Place]>
  expectTypeOf<Given<ConstructorParameters<typeof StorageError>, 2>>().toEqualTypeOf<SyncErrorOptions>()
  expectTypeOf<Given<ConstructorParameters<typeof HttpError>, 1>>().toEqualTypeOf<HttpErrorDetails>()
  expectTypeOf<
    Given<ConstructorParameters<typeof ValidationError>, 3>
  >().toEqualTypeOf<ValidationErrorOptions>()
})
