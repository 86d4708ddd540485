import { check } from '../base/check-options.ts'
import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock, Random } from '../base/environment.ts'
import { type Logger, nonThrowing, silentLogger } from '../base/logger.ts'
import { defineModels, type ModelDefinitions, type Models } from '../models/models.ts'
import { isObject } from '../protocol/json.ts'
import { maxOps } from '../protocol/tx.ts'
import type { Authenticate } from './auth/caller.ts'
import { isOwner } from './auth/owners.ts'
import type { OnCommit } from './change-hook.ts'
import { type Defined, defined } from './defined.ts'
import type { ActAs } from './http/act-as.ts'
import type { Authorize } from './http/authorize.ts'
import type { Prepare } from './http/prepare.ts'
import { defaultRecordBytes, maxRecordBytes } from './log/check-size.ts'
import type { Log } from './log/log.ts'
import type { Metrics } from './ops/metrics.ts'
import type { RateLimit } from './ops/rate-limit.ts'

export interface SyncServiceOptions {
  /**
   * The database of the records. `'memory:'` keeps them until the process ends. A string like
   * `postgres://user:password@host/database` names a PostgreSQL database. Any other string names a folder, which only
   * one process may use at a time. A {@link Log} object is used as it is.
   */
  readonly database: string | Log
  /** Identifies the caller of each request, before anything else happens. */
  readonly authenticate: Authenticate
  /**
   * The field of each record that names its owner. Only callers with this owner see the record; see
   * {@link Caller.owners}.
   */
  readonly ownerField: string
  /**
   * Runs before each transaction of a client, and may refuse the transaction. @default allows all that ownership allows
   */
  readonly authorize?: Authorize
  /**
   * Runs for each op of a client's transaction that `authorize` allows, before the op is judged, and may change its
   * fields. @default leaves the ops as they are
   */
  readonly prepare?: Prepare | undefined
  /**
   * Returns the role and the settings of the database under which a client's ops on the tables of `tables` run, so that
   * the policies of these tables apply. @default the role of the service, to which no policies apply
   */
  readonly as?: ActAs | undefined
  /**
   * The types and their schemas, as passed to {@link defineModels} or returned by it. A write that breaks a schema is
   * rejected.
   */
  readonly models?: ModelDefinitions | Models | undefined
  /**
   * Called after each write of this service is committed, in the order of the sids. Writes of other processes on the
   * same database, such as `instep import`, are not reported. Each write is reported at most once: if the process ends
   * before the call, or never learns that its commit succeeded, the call never happens.
   */
  readonly onCommit?: OnCommit | undefined
  /** The path under which the endpoints are. @default '/sync/v1' */
  readonly path?: string | undefined
  /** The origins whose pages may call the service, like `https://app.example.com`. @default all */
  readonly allowedOrigins?: readonly string[]
  /** The longest time without a message on a socket, in ms. @default 15_000 */
  readonly heartbeatMs?: number | undefined
  /**
   * How often the service checks that the credentials of an open socket are still valid, in ms. If they have ended, it
   * closes the socket with 4401; if they name another caller, with 1012; if `authenticate` cannot decide now, nothing
   * happens. `Infinity`: never, for tokens that can be used only once. @default 60_000
   */
  readonly recheckMs?: number | undefined
  /**
   * The maximum number of unsent bytes in one socket. Above it, the service closes the socket as too slow. @default
   * 1_048_576
   */
  readonly maxBufferedBytes?: number | undefined
  /** The maximum number of open sockets of one user. @default 100 */
  readonly maxSockets?: number | undefined
  /** The maximum length of a request body, in bytes. @default 1_048_576 */
  readonly maxBodyBytes?: number | undefined
  /** The maximum number of transactions in one request. @default 100 */
  readonly maxTransactions?: number | undefined
  /** The maximum number of ops in one transaction. @default 1_000 */
  readonly maxOps?: number | undefined
  /**
   * The maximum length of a record's fields, in bytes of JSON, up to 15 MiB: a client takes no row above 16 MiB.
   * @default 1_048_576
   */
  readonly maxRecordBytes?: number | undefined
  /** Limits how often a caller may send requests; see {@link rateLimiter}. @default no limit */
  readonly rateLimit?: RateLimit | undefined
  /**
   * The path that reports, without authentication, whether the service accepts requests. `false` disables it. @default
   * '/healthz'
   */
  readonly healthPath?: string | false | undefined
  /** Counts requests and sockets; see {@link prometheusMetrics}. @default nothing is counted */
  readonly metrics?: Metrics | undefined
  readonly logger?: Logger | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

type Undefaulted =
  | 'allowedOrigins'
  | 'as'
  | 'authorize'
  | 'metrics'
  | 'models'
  | 'onCommit'
  | 'prepare'
  | 'rateLimit'

export type ResolvedOptions = Required<Defined<Omit<SyncServiceOptions, Undefaulted>>> & {
  readonly allowedOrigins: readonly string[] | undefined
  readonly as: ActAs | undefined
  readonly authorize: Authorize | undefined
  readonly metrics: Metrics | undefined
  readonly models: Models | undefined
  readonly onCommit: OnCommit | undefined
  readonly prepare: Prepare | undefined
  readonly rateLimit: RateLimit | undefined
}

/** The values that {@link isOrigin} accepts, for an error message. */
export const originExpected =
  "origins as browsers send them, like 'https://app.example.com', without a path, a slash or a wildcard"

type Accepts = (value: unknown, path: string) => boolean

const orNone =
  (accepts: Accepts): Accepts =>
  (value, path) =>
    value === undefined || accepts(value, path)
const isAbove0 = (value: unknown) => typeof value === 'number' && value > 0
const limit = [isAbove0, 'a number above 0'] as const

/** The check of each option, applied after the defaults. `path` is the path of the endpoints. */
export const expected: {
  readonly [Name in keyof Required<SyncServiceOptions>]: readonly [accepts: Accepts, what: string]
} = {
  database: [
    (value) => value === 'memory:' || isObject(value),
    "'memory:', a Log, or on Node a folder or an address like 'postgres://…'",
  ],
  authenticate: [isFunction, 'a function'],
  ownerField: [isOwner, "the name of a field, such as 'userId' or 'owner'"],
  authorize: [orNone(isFunction), 'a function'],
  prepare: [orNone(isFunction), 'a function'],
  as: [orNone(isFunction), 'a function'],
  models: [orNone(isObject), 'the result of defineModels, or an object of schemas'],
  onCommit: [orNone(isFunction), 'a function'],
  path: [
    (value) => typeof value === 'string' && /^(\/[\w.~-]+)*$/.test(value),
    "'' or a path like '/sync/v1', without a slash at its end",
  ],
  allowedOrigins: [
    orNone((value) => Array.isArray(value) && value.every(isOrigin)),
    `a list of ${originExpected}; leave it out to allow all origins`,
  ],
  heartbeatMs: limit,
  recheckMs: limit,
  maxBufferedBytes: limit,
  maxSockets: limit,
  maxBodyBytes: limit,
  maxTransactions: limit,
  maxOps: limit,
  maxRecordBytes: [
    (value) => isAbove0(value) && Number(value) <= maxRecordBytes,
    `a number above 0, and ${maxRecordBytes} bytes at most`,
  ],
  rateLimit: [
    orNone((value) => hasFunctions(value, ['take'])),
    'a RateLimit, such as the result of `rateLimiter()`',
  ],
  healthPath: [
    (value, path) => value === false || isOwnPath(value, path),
    "a path like '/healthz' that is not the path of an endpoint, or false",
  ],
  metrics: [
    orNone(
      (value, path) =>
        isObject(value) && hasFunctions(value, ['answered', 'show']) && isOwnPath(value.path, path),
    ),
    'Metrics, such as the result of `prometheusMetrics()`, with a path that is not the path of an endpoint',
  ],
  logger: [(value) => hasFunctions(value, ['debug', 'info', 'warn', 'error']), 'a Logger'],
  clock: [isObject, 'a Clock'],
  random: [isObject, 'a Random'],
}

/** All options with their defaults. Throws a ConfigurationError that names the first invalid option. */
export function resolveOptions(options: SyncServiceOptions): ResolvedOptions {
  const { clock, random } = resolveEnvironment()
  const resolved: ResolvedOptions = {
    path: '/sync/v1',
    heartbeatMs: 15_000,
    recheckMs: 60_000,
    maxBufferedBytes: 1_048_576,
    maxSockets: 100,
    maxBodyBytes: 1_048_576,
    maxTransactions: 100,
    maxOps: maxOps,
    maxRecordBytes: defaultRecordBytes,
    allowedOrigins: undefined,
    authorize: undefined,
    prepare: undefined,
    as: undefined,
    onCommit: undefined,
    rateLimit: undefined,
    healthPath: '/healthz',
    metrics: undefined,
    logger: silentLogger,
    clock,
    random,
    ...defined(options),
    models: options.models && defineModels(options.models),
  }
  for (const [option, [accepts, what]] of Object.entries(expected)) {
    const value = resolved[option as keyof SyncServiceOptions]
    check(option, value, [() => accepts(value, resolved.path), what])
  }
  return { ...resolved, logger: nonThrowing(resolved.logger) }
}

/** Whether `text` is an origin in the only form in which a browser sends it (RFC 6454, section 6.2). */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  // `URL.origin` is `'null'` for custom schemes, such as those of apps in a web view, so the check does not use it.
  const { protocol, host } = new URL(text)
  return host !== '' && !host.includes('*') && text === [protocol, host].join('//')
}

/** Whether `candidate` is a valid path that differs from all endpoints below `path`. */
function isOwnPath(candidate: unknown, path: string): boolean {
  const taken = ['bootstrap', 'delta', 'ws', 'tx'].map((endpoint) => `${path}/${endpoint}`)
  return typeof candidate === 'string' && /^(\/[\w.~-]+)+$/.test(candidate) && !taken.includes(candidate)
}

function hasFunctions(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => isFunction(value[name]))
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}
