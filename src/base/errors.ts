/**
 * Every error that leaves Instep is a {@link SyncError}: one sentence that says what was wrong and what to do,
 * a `code` to branch on, and whether trying again can help.
 */

const brand = Symbol.for('instep.SyncError')

/** The codes of each class. A code is stable; a message is not. */
export interface ErrorCodes {
  /** None of the others: a fault of Instep's or of something it was given. */
  SyncError: 'unexpected'
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
    | 'blocked'
    | 'timeout'
    | 'quota'
    | 'aborted'
    | 'fenced'
    | 'broken_link'
    | 'unreadable'
    | 'closed'
  ConfigurationError: 'configuration'
  ValidationError: 'validation' | 'not_loaded'
  RejectedError: 'rejected'
  ClosedError: 'closed'
}

export type ErrorName = keyof ErrorCodes

export interface SyncErrorOptions {
  readonly cause?: unknown
  readonly retryable?: boolean
}

/** The base of every error. Tell it with {@link isSyncError}, which also works across copies of the package. */
export class SyncError<Name extends ErrorName = ErrorName> extends Error {
  override readonly name: Name
  readonly code: ErrorCodes[Name]
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean
  readonly [brand] = true

  constructor(name: Name, code: ErrorCodes[Name], message: string, options: SyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = name
    this.code = code
    this.retryable = options.retryable ?? false
  }
}

/** The class of each name. */
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
  ClosedError: ClosedError
}

/** Whether `value` is an error of Instep's, of any class or of the class `name`. */
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
 * The server answered 401, or there are no credentials to send (the interface's section "Errors"). `other_user`: the
 * credentials belong to another user than the data.
 */
export class UnauthenticatedError extends SyncError<'UnauthenticatedError'> {
  constructor(message: string, options: UnauthenticatedErrorOptions = {}) {
    super('UnauthenticatedError', options.code ?? 'unauthenticated', message, options)
  }
}

/** The other side sent something that is not the protocol. The state is as it was before. */
export class ProtocolError extends SyncError<'ProtocolError'> {
  constructor(code: ErrorCodes['ProtocolError'], message: string, options?: SyncErrorOptions) {
    super('ProtocolError', code, message, { retryable: true, ...options })
  }
}

export interface HttpErrorDetails extends SyncErrorOptions {
  readonly status: number
  /** `error.code` of the body, where the body is the protocol's own error body. */
  readonly serverCode?: string | undefined
  /** What `Retry-After` asked for, in ms. */
  readonly retryAfterMs?: number | undefined
}

/** The server answered with a status that is neither 2xx nor 401. */
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

/** The server could not be reached, or did not answer within the time limit. */
export class NetworkError extends SyncError<'NetworkError'> {
  constructor(code: ErrorCodes['NetworkError'], message: string, options?: SyncErrorOptions) {
    super('NetworkError', code, message, { retryable: true, ...options })
  }
}

/** The local store refused, failed, or did not answer within the time limit. */
export class StorageError extends SyncError<'StorageError'> {
  constructor(code: ErrorCodes['StorageError'], message: string, options?: SyncErrorOptions) {
    super('StorageError', code, message, options)
  }
}

/** An option is missing or wrong. `option` is its name, as in `endpoints.wsUrl`. */
export class ConfigurationError extends SyncError<'ConfigurationError'> {
  readonly option: string

  constructor(option: string, message: string, options?: SyncErrorOptions) {
    super('ConfigurationError', 'configuration', message, options)
    this.option = option
  }
}

/** Says of `option` what is wrong: the sentence begins with its name. */
export function wrongOption(option: string, what: string, options?: SyncErrorOptions): ConfigurationError {
  return new ConfigurationError(option, `\`${option}\` ${what}`, options)
}

export interface ValidationErrorOptions extends SyncErrorOptions {
  /** @default 'validation' */
  readonly code?: ErrorCodes['ValidationError']
}

/**
 * What was to be written is refused before anything has happened: it breaks its model, or is no JSON. `not_loaded`: the
 * records of its type are still on the disk alone.
 */
export class ValidationError extends SyncError<'ValidationError'> {
  /** The record's type. */
  readonly t: string
  /** The field, with the path into it: `labels.0`; empty where it is about the whole record. */
  readonly field: string
  readonly reason: string

  constructor(t: string, field: string, reason: string, { code, ...options }: ValidationErrorOptions = {}) {
    const place = field === '' ? t : `${t}.${field}`
    super('ValidationError', code ?? 'validation', `${place}: ${reason.replace(/\.?$/, '.')}`, options)
    this.t = t
    this.field = field
    this.reason = reason
  }
}

/** A transaction will not happen. `reason` is the server's code, or `cancelled`, `discarded`, `migration`. */
export class RejectedError extends SyncError<'RejectedError'> {
  readonly reason: string
  /** What the server added to its code, as it came. */
  readonly details: unknown

  constructor(reason: string, message: string, details?: unknown) {
    super('RejectedError', 'rejected', message)
    this.reason = reason
    this.details = details
  }
}

/** Something was asked of a client that has been closed. */
export class ClosedError extends SyncError<'ClosedError'> {
  constructor(
    message = 'This client is closed; make a new SyncClient to go on.',
    options?: SyncErrorOptions,
  ) {
    super('ClosedError', 'closed', message, options)
  }
}

/** `value` as an Error, for a message or a `cause`; anything can be thrown. */
export function toError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value))
}

/** The code of an error of Node's or of a database's; '' where it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** What was thrown, as an error of Instep's. */
export function toSyncError(value: unknown): SyncError {
  if (isSyncError(value)) return value
  return new SyncError('SyncError', 'unexpected', `Something unexpected failed: ${toError(value).message}`, {
    cause: value,
  })
}

/** What a store threw, as a StorageError. */
export function toStorageError(value: unknown): SyncError<'StorageError'> {
  if (isSyncError(value, 'StorageError')) return value
  return new StorageError('aborted', `The local store failed: ${toError(value).message}`, { cause: value })
}
