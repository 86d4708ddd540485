import { ConfigurationError } from '../base/errors.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import { resolveWorld } from '../base/world.default.ts'
import type { Clock, Random } from '../base/world.ts'
import { defineModels, type ModelDefinitions, type Models } from '../models/models.ts'
import { isObject } from '../protocol/json.ts'
import type { Authenticate, OwnerField } from './auth/caller.ts'
import type { OnCommit } from './change-hook.ts'
import { given } from './given.ts'
import type { Authorize } from './http/authorize.ts'
import { defaultRecordBytes, mostRecordBytes } from './log/check-size.ts'
import type { Log } from './log/log.ts'
import type { Metrics } from './ops/metrics.ts'
import type { RateLimit } from './ops/rate-limit.ts'

export interface SyncServiceOptions {
  /**
   * Where the data is: `'memory:'` keeps it as long as the process lives; an address like
   * `postgres://user:password@host/database`; a folder, which one process has to itself; or a log of your own.
   */
  readonly database: string | Log
  /** Runs before everything else. */
  readonly authenticate: Authenticate
  /** The field of each record that names its owner, who alone sees it. */
  readonly ownerField: OwnerField
  /** Runs before each transaction of a client. @default allows all that ownership allows */
  readonly authorize?: Authorize
  /** The types, as {@link defineModels} takes or gives them: what is written has to satisfy its schema. */
  readonly models?: ModelDefinitions | Models
  /**
   * Told of each write of this service once it is committed, in the order of the sids, and of none that other processes
   * on the same database do. At most once: what a process has not told before it ends is not told again.
   */
  readonly onCommit?: OnCommit
  /** Where the endpoints are. @default '/sync/v1' */
  readonly path?: string
  /** The origins whose pages may call and connect, as in `https://app.example.com`. @default all */
  readonly allowedOrigins?: readonly string[]
  /** The longest silence on a socket, in ms. @default 15_000 */
  readonly heartbeatMs?: number
  /** How often it is asked whether the credentials of an open socket still hold, in ms. @default 60_000 */
  readonly recheckMs?: number
  /** What may wait in one socket, in bytes, before it is closed as too slow. @default 1_048_576 */
  readonly maxBufferedBytes?: number
  /** The longest body of a request, in bytes. @default 1_048_576 */
  readonly maxBodyBytes?: number
  /** The most transactions in one request. @default 100 */
  readonly maxTransactions?: number
  /** The most ops in one transaction. @default 1_000 */
  readonly maxOps?: number
  /** The longest a record may become, in bytes of JSON; a client takes none of more than 16 MiB. @default 1_048_576 */
  readonly maxRecordBytes?: number
  /** How often callers may ask, as {@link rateLimiter} gives it. @default as often as they like */
  readonly rateLimit?: RateLimit
  /** Where it is told, without authentication, whether requests are welcome; `false` tells it nowhere. @default '/healthz' */
  readonly healthPath?: string | false
  /** Counts what happens, as {@link prometheusMetrics} does. @default nothing is counted */
  readonly metrics?: Metrics
  readonly logger?: Logger
  readonly clock?: Clock
  readonly random?: Random
}

/** The names of all of them. */
export const serviceOptions = {
  database: true,
  authenticate: true,
  ownerField: true,
  authorize: true,
  models: true,
  onCommit: true,
  path: true,
  allowedOrigins: true,
  heartbeatMs: true,
  recheckMs: true,
  maxBufferedBytes: true,
  maxBodyBytes: true,
  maxTransactions: true,
  maxOps: true,
  maxRecordBytes: true,
  rateLimit: true,
  healthPath: true,
  metrics: true,
  logger: true,
  clock: true,
  random: true,
} satisfies Record<keyof SyncServiceOptions, true>

export type ResolvedOptions = Required<
  Omit<SyncServiceOptions, 'allowedOrigins' | 'authorize' | 'metrics' | 'models' | 'onCommit' | 'rateLimit'>
> & {
  readonly allowedOrigins: readonly string[] | undefined
  readonly authorize: Authorize | undefined
  readonly metrics: Metrics | undefined
  readonly models: Models | undefined
  readonly onCommit: OnCommit | undefined
  readonly rateLimit: RateLimit | undefined
}

/** All options with their defaults. Throws a ConfigurationError that names the one that is wrong. */
export function resolveOptions(options: SyncServiceOptions): ResolvedOptions {
  const { clock, random } = resolveWorld()
  const resolved: ResolvedOptions = {
    path: '/sync/v1',
    heartbeatMs: 15_000,
    recheckMs: 60_000,
    maxBufferedBytes: 1_048_576,
    maxBodyBytes: 1_048_576,
    maxTransactions: 100,
    maxOps: 1_000,
    maxRecordBytes: defaultRecordBytes,
    allowedOrigins: undefined,
    authorize: undefined,
    onCommit: undefined,
    rateLimit: undefined,
    healthPath: '/healthz',
    metrics: undefined,
    logger: silentLogger,
    clock,
    random,
    ...given(options),
    models: options.models && defineModels(options.models),
  }
  const { database, authenticate, authorize, onCommit, ownerField, path, healthPath } = resolved
  const { allowedOrigins, logger, metrics, rateLimit } = resolved
  expect(
    'database',
    database === 'memory:' || typeof database === 'object',
    "'memory:', a log, or on Node a folder or an address like 'postgres://…'",
  )
  expect('authenticate', typeof authenticate === 'function', 'a function')
  expect(
    'ownerField',
    ownerField === 'userId' || ownerField === 'organizationId',
    "'userId' or 'organizationId'",
  )
  expect('authorize', authorize === undefined || typeof authorize === 'function', 'a function')
  expect('onCommit', onCommit === undefined || typeof onCommit === 'function', 'a function')
  expect('path', /^(\/[\w.~-]+)*$/.test(path), "'' or a path like '/sync/v1', without a slash at its end")
  expect(
    'healthPath',
    healthPath === false || isOwnPath(healthPath, path),
    "a path like '/healthz' that is none of the endpoints', or false",
  )
  expect(
    'allowedOrigins',
    allowedOrigins === undefined || (Array.isArray(allowedOrigins) && allowedOrigins.every(isOrigin)),
    `a list of ${originExpected}; without it, all may`,
  )
  expect('logger', hasFunctions(logger, ['debug', 'info', 'warn', 'error']), 'a Logger')
  expect(
    'metrics',
    metrics === undefined || (hasFunctions(metrics, ['answered', 'show']) && isOwnPath(metrics.path, path)),
    'Metrics, as `prometheusMetrics()` gives them, at a path that is none of the endpoints’',
  )
  expect(
    'rateLimit',
    rateLimit === undefined || hasFunctions(rateLimit, ['take']),
    'a RateLimit, as `rateLimiter()` gives it',
  )
  for (const option of [
    'heartbeatMs',
    'recheckMs',
    'maxBufferedBytes',
    'maxBodyBytes',
    'maxTransactions',
    'maxOps',
    'maxRecordBytes',
  ] as const) {
    const value: unknown = resolved[option]
    expect(option, typeof value === 'number' && value > 0, 'a number above 0')
  }
  expect('maxRecordBytes', resolved.maxRecordBytes <= mostRecordBytes, `${mostRecordBytes} bytes at most`)
  return { ...resolved, logger: harmless(logger) }
}

/** What {@link isOrigin} asks for. */
export const originExpected =
  "origins as browsers send them, like 'https://app.example.com', without a path or a slash"

/** Whether `text` is an origin in the only form in which a browser sends it (RFC 6454, section 6.2). */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  // Not by `origin`, which is `null` for the pages of an application of its own scheme.
  const { protocol, host } = new URL(text)
  return host !== '' && text === [protocol, host].join('//')
}

/** Whether `candidate` is a path at which no endpoint below `path` is. */
function isOwnPath(candidate: unknown, path: string): boolean {
  const taken = ['bootstrap', 'delta', 'ws', 'tx'].map((endpoint) => `${path}/${endpoint}`)
  return typeof candidate === 'string' && /^(\/[\w.~-]+)+$/.test(candidate) && !taken.includes(candidate)
}

function hasFunctions(value: object, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

function expect(option: string, fulfilled: boolean, expected: string): void {
  if (!fulfilled) throw new ConfigurationError(option, `The option \`${option}\` is to be ${expected}.`)
}
