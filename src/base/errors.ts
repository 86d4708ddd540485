/**
 * Every error that Instep throws or emits is a {@link SyncError}: a message that says what was wrong and what to do, a
 * `code` to branch on, and whether trying again can help.
 */

const brand = Symbol.for('instep.SyncError')

/** The codes of each class. Codes are stable, messages are not. */
export interface ErrorCodes {
  /** None of the other classes: a bug in Instep or in something that was passed to it. */
  SyncError: 'unexpected' | 'listener_loop'
  UnauthenticatedError: 'unauthenticated' | 'other_user'
  ProtocolError:
    | 'not_json'
    | 'bad_envelope'
    | 'bad_sid'
    | 'truncated'
    | 'row_too_large'
    | 'discontinuous'
    | 'loop'
  HttpError: 'http_status'
  NetworkError: 'unreachable' | 'timeout' | 'stopped'
  StorageError:
    | 'unavailable'
    | 'no_storage'
    | 'blocked'
    | 'timeout'
    | 'quota'
    | 'aborted'
    | 'fenced'
    | 'broken_link'
    | 'unreadable'
    | 'closed'
    | 'signed_out'
  ConfigurationError: 'configuration'
  ValidationError: 'validation' | 'not_loaded'
  RejectedError: 'rejected'
  PendingError: 'pending'
  ClosedError: 'closed' | 'signed_out'
}

export type ErrorName = keyof ErrorCodes

export interface SyncErrorOptions {
  readonly cause?: unknown
  readonly retryable?: boolean
}

/**
 * The base class of every error. Check for it with {@link isSyncError}, which also works across copies of the package.
 */
export class SyncError<Name extends ErrorName = ErrorName> extends Error {
  override readonly name: Name
  readonly code: ErrorCodes[Name]
  /** Whether the same call may succeed later although the caller changes nothing. */
  readonly retryable: boolean
  readonly [brand] = true

  constructor(name: Name, code: ErrorCodes[Name], message: string, options: SyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = name
    this.code = code
    this.retryable = options.retryable ?? false
  }
}

/** The error class of each name. */
export interface ErrorClasses {
  SyncError: SyncError<'SyncError'>
  UnauthenticatedError: UnauthenticatedError
  ProtocolError: ProtocolError
  HttpError: HttpError
  NetworkError: NetworkError
  StorageError: StorageError
  ConfigurationError: ConfigurationError
  ValidationError: ValidationError
  RejectedError: RejectedError
  PendingError: PendingError
  ClosedError: ClosedError
}

/** Whether `value` is an error of Instep, of any class or of the class `name`. */
export function isSyncError<Name extends ErrorName = ErrorName>(
  value: unknown,
  name?: Name,
): value is ErrorClasses[Name] {
  return value instanceof Error && brand in value && (name === undefined || value.name === name)
}

export interface UnauthenticatedErrorOptions extends SyncErrorOptions {
  /** @default 'unauthenticated' */
  readonly code?: ErrorCodes['UnauthenticatedError']
}

/**
 * The server responded with 401, or there are no credentials to send (docs/protocol.md, "Failures"). `other_user`: the
 * credentials belong to another user than the data.
 */
export class UnauthenticatedError extends SyncError<'UnauthenticatedError'> {
  constructor(message: string, options: UnauthenticatedErrorOptions = {}) {
    super('UnauthenticatedError', options.code ?? 'unauthenticated', message, options)
  }
}

/** The other side has broken the protocol. The state has not changed. */
export class ProtocolError extends SyncError<'ProtocolError'> {
  constructor(code: ErrorCodes['ProtocolError'], message: string, options?: SyncErrorOptions) {
    super('ProtocolError', code, message, { retryable: true, ...options })
  }
}

export interface HttpErrorDetails extends SyncErrorOptions {
  readonly status: number
  /** `error.code` of the body, if the body has the protocol's format for errors. */
  readonly serverCode?: string | undefined
  /** The wait that `Retry-After` asked for, in ms. */
  readonly retryAfterMs?: number | undefined
}

/** The server responded with a status that is neither 2xx nor 401. */
export class HttpError extends SyncError<'HttpError'> {
  readonly status: number
  readonly serverCode: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, details: HttpErrorDetails) {
    super('HttpError', 'http_status', message, { retryable: true, ...details })
    this.status = details.status
    this.serverCode = details.serverCode
    this.retryAfterMs = details.retryAfterMs
  }
}

/** The server is unreachable or has not responded in time, or the client was stopped before the response. */
export class NetworkError extends SyncError<'NetworkError'> {
  constructor(code: ErrorCodes['NetworkError'], message: string, options?: SyncErrorOptions) {
    super('NetworkError', code, message, { retryable: true, ...options })
  }
}

/** The local store has refused or failed an operation, or not answered in time. */
export class StorageError extends SyncError<'StorageError'> {
  constructor(code: ErrorCodes['StorageError'], message: string, options?: SyncErrorOptions) {
    super('StorageError', code, message, options)
  }
}

/** An option is missing or wrong. `option`: the name of the option, for example `endpoints.wsUrl`. */
export class ConfigurationError extends SyncError<'ConfigurationError'> {
  readonly option: string

  constructor(option: string, message: string, options?: SyncErrorOptions) {
    super('ConfigurationError', 'configuration', message, options)
    this.option = option
  }
}

/** Returns a ConfigurationError about `option`. `what` continues a sentence that begins with the name of the option. */
export function wrongOption(option: string, what: string, options?: SyncErrorOptions): ConfigurationError {
  return new ConfigurationError(option, `\`${option}\` ${what}`, options)
}

/** What is wrong with one field. */
export interface ValidationIssue {
  /** The field, with the path into it, for example `labels.0`; empty if the issue concerns the whole record. */
  readonly field: string
  readonly reason: string
}

export interface ValidationErrorOptions extends SyncErrorOptions {
  /** All issues, the first one included. @default the field and the reason of the error */
  readonly issues?: readonly ValidationIssue[]
  /** @default 'validation' */
  readonly code?: ErrorCodes['ValidationError']
}

/**
 * A write breaks its model, or is not JSON. Nothing has changed. `not_loaded`: the records of its type are not loaded
 * yet.
 */
export class ValidationError extends SyncError<'ValidationError'> {
  /** The record's type. */
  readonly t: string
  /** The field, with the path into it, for example `labels.0`; empty if the error is about the whole record. */
  readonly field: string
  readonly reason: string
  /** Everything that is wrong. `field` and `reason` are those of the first issue. */
  readonly issues: readonly ValidationIssue[]

  constructor(
    t: string,
    field: string,
    reason: string,
    { code, issues = [{ field, reason }], ...options }: ValidationErrorOptions = {},
  ) {
    const place = field === '' ? t : `${t}.${field}`
    super('ValidationError', code ?? 'validation', `${place}: ${reason.replace(/\.?$/, '.')}`, options)
    this.t = t
    this.field = field
    this.reason = reason
    this.issues = issues
  }
}

/**
 * A transaction was rejected, undone or lost. `reason`: the server's code, or a code of the client, such as
 * `cancelled`, `discarded` or `migration`.
 */
export class RejectedError extends SyncError<'RejectedError'> {
  readonly reason: string
  /** The details that the server has sent with its code, unchanged. */
  readonly details: unknown

  constructor(reason: string, message: string, details?: unknown) {
    super('RejectedError', 'rejected', message)
    this.reason = reason
    this.details = details
  }
}

/**
 * There are unsent or rejected transactions, and `logout` was called without `pending`, or `pending: 'flush'` could not
 * send all of them. The user is still signed in, and no data is deleted.
 */
export class PendingError extends SyncError<'PendingError'> {
  /** The number of transactions, of all tabs, that are not sent. */
  readonly pending: number
  /** The number of transactions, of all tabs, that were rejected and are still in the outbox. */
  readonly rejected: number

  /** `advice`: the end of the message. */
  constructor(
    pending: number,
    rejected: number,
    advice = 'pass `pending` to `logout` to keep or discard them',
  ) {
    const parts = [
      pending > 0 && (pending === 1 ? '1 transaction is unsent' : `${pending} transactions are unsent`),
      rejected > 0 &&
        (rejected === 1
          ? '1 rejected transaction waits for a decision'
          : `${rejected} rejected transactions wait for a decision`),
    ]
    super('PendingError', 'pending', `${parts.filter(Boolean).join(', and ')}: ${advice}.`)
    this.pending = pending
    this.rejected = rejected
  }
}

export interface ClosedErrorOptions extends SyncErrorOptions {
  /** @default 'closed' */
  readonly code?: ErrorCodes['ClosedError']
}

/**
 * A method was called on a closed client, or the client was closed before a promise settled. `signed_out`: the user has
 * signed out, here or in another tab.
 */
export class ClosedError extends SyncError<'ClosedError'> {
  constructor(
    message = 'This client is closed. Create a new SyncClient.',
    { code = 'closed', ...options }: ClosedErrorOptions = {},
  ) {
    super('ClosedError', code, message, options)
  }
}

/** Returns `value` if it is an Error, and otherwise an Error with `value` as the message. */
export function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value))
}

/** The `code` of an error of Node or a database; empty if there is none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** Converts a thrown value into an error of Instep. */
export function toSyncError(value: unknown): SyncError {
  if (isSyncError(value)) return value
  return new SyncError('SyncError', 'unexpected', `Something unexpected failed: ${toError(value).message}`, {
    cause: value,
  })
}

/** Converts a value that a store has thrown into a StorageError. */
export function toStorageError(value: unknown): SyncError<'StorageError'> {
  if (isSyncError(value, 'StorageError')) return value
  return new StorageError('aborted', `The local store failed: ${toError(value).message}`, { cause: value })
}
