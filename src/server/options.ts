import { check } from '../base/check-options.ts'
import { resolveEnvironment } from '../base/environment.default.ts'
import type { Clock, Random } from '../base/environment.ts'
import { harmless, type Logger, silentLogger } from '../base/logger.ts'
import { defineModels, type ModelDefinitions, type Models } from '../models/models.ts'
import { isObject } from '../protocol/json.ts'
import { maxOps } from '../protocol/tx.ts'
import type { Authenticate, OwnerField } from './auth/caller.ts'
import type { OnCommit } from './change-hook.ts'
import { type Given, given } from './defined.ts'
import type { Authorize } from './http/authorize.ts'
import { defaultRecordBytes, maxRecordBytes } from './log/check-size.ts'
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
  readonly models?: ModelDefinitions | Models | undefined
  /**
   * Told of each write of this service once it is committed, in the order of the sids, and of none that other processes
   * on the same database do. At most once: what a process has not told before it ends is not told again.
   */
  readonly onCommit?: OnCommit | undefined
  /** Where the endpoints are. @default '/sync/v1' */
  readonly path?: string | undefined
  /** The origins whose pages may call and connect, as in `https://app.example.com`. @default all */
  readonly allowedOrigins?: readonly string[]
  /** The longest silence on a socket, in ms. @default 15_000 */
  readonly heartbeatMs?: number | undefined
  /** How often it is asked whether the credentials of an open socket still hold, in ms. @default 60_000 */
  readonly recheckMs?: number | undefined
  /** What may wait in one socket, in bytes, before it is closed as too slow. @default 1_048_576 */
  readonly maxBufferedBytes?: number | undefined
  /** The longest body of a request, in bytes. @default 1_048_576 */
  readonly maxBodyBytes?: number | undefined
  /** The most transactions in one request. @default 100 */
  readonly maxTransactions?: number | undefined
  /** The most ops in one transaction. @default 1_000 */
  readonly maxOps?: number | undefined
  /** The longest a record may become, in bytes of JSON; a client takes none of more than 16 MiB. @default 1_048_576 */
  readonly maxRecordBytes?: number | undefined
  /** How often callers may ask, as {@link rateLimiter} gives it. @default as often as they like */
  readonly rateLimit?: RateLimit | undefined
  /** Where it is told, without authentication, whether requests are welcome; `false` tells it nowhere. @default '/healthz' */
  readonly healthPath?: string | false | undefined
  /** Counts what happens, as {@link prometheusMetrics} does. @default nothing is counted */
  readonly metrics?: Metrics | undefined
  readonly logger?: Logger | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

type Undefaulted = 'allowedOrigins' | 'authorize' | 'metrics' | 'models' | 'onCommit' | 'rateLimit'

export type ResolvedOptions = Required<Given<Omit<SyncServiceOptions, Undefaulted>>> & {
  readonly allowedOrigins: readonly string[] | undefined
  readonly authorize: Authorize | undefined
  readonly metrics: Metrics | undefined
  readonly models: Models | undefined
  readonly onCommit: OnCommit | undefined
  readonly rateLimit: RateLimit | undefined
}

/** What {@link isOrigin} asks for. */
export const originExpected =
  "origins as browsers send them, like 'https://app.example.com', without a path, a slash or a wildcard"

type Accepts = (value: unknown, path: string) => boolean

const orNone =
  (accepts: Accepts): Accepts =>
  (value, path) =>
    value === undefined || accepts(value, path)
const isAbove0 = (value: unknown) => typeof value === 'number' && value > 0
const limit = [isAbove0, 'a number above 0'] as const

/** What each option must be once it has its default, where the endpoints are at `path`. */
export const expected: {
  readonly [Name in keyof Required<SyncServiceOptions>]: readonly [accepts: Accepts, what: string]
} = {
  database: [
    (value) => value === 'memory:' || isObject(value),
    "'memory:', a log, or on Node a folder or an address like 'postgres://…'",
  ],
  authenticate: [isFunction, 'a function'],
  ownerField: [(value) => value === 'userId' || value === 'organizationId', "'userId' or 'organizationId'"],
  authorize: [orNone(isFunction), 'a function'],
  models: [orNone(isObject), 'what defineModels gives, or an object of schemas'],
  onCommit: [orNone(isFunction), 'a function'],
  path: [
    (value) => typeof value === 'string' && /^(\/[\w.~-]+)*$/.test(value),
    "'' or a path like '/sync/v1', without a slash at its end",
  ],
  allowedOrigins: [
    orNone((value) => Array.isArray(value) && value.every(isOrigin)),
    `a list of ${originExpected}; without it, all may`,
  ],
  heartbeatMs: limit,
  recheckMs: limit,
  maxBufferedBytes: limit,
  maxBodyBytes: limit,
  maxTransactions: limit,
  maxOps: limit,
  maxRecordBytes: [
    (value) => isAbove0(value) && Number(value) <= maxRecordBytes,
    `a number above 0, and ${maxRecordBytes} bytes at most`,
  ],
  rateLimit: [orNone((value) => hasFunctions(value, ['take'])), 'a RateLimit, as `rateLimiter()` gives it'],
  healthPath: [
    (value, path) => value === false || isOwnPath(value, path),
    "a path like '/healthz' that is none of the endpoints', or false",
  ],
  metrics: [
    orNone(
      (value, path) =>
        isObject(value) && hasFunctions(value, ['answered', 'show']) && isOwnPath(value.path, path),
    ),
    'Metrics, as `prometheusMetrics()` gives them, at a path that is none of the endpoints’',
  ],
  logger: [(value) => hasFunctions(value, ['debug', 'info', 'warn', 'error']), 'a Logger'],
  clock: [isObject, 'a Clock'],
  random: [isObject, 'a Random'],
}

/** All options with their defaults. Throws a ConfigurationError that names the one that is wrong. */
export function resolveOptions(options: SyncServiceOptions): ResolvedOptions {
  const { clock, random } = resolveEnvironment()
  const resolved: ResolvedOptions = {
    path: '/sync/v1',
    heartbeatMs: 15_000,
    recheckMs: 60_000,
    maxBufferedBytes: 1_048_576,
    maxBodyBytes: 1_048_576,
    maxTransactions: 100,
    maxOps: maxOps,
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
  for (const [option, [accepts, what]] of Object.entries(expected)) {
    const value = resolved[option as keyof SyncServiceOptions]
    check(option, value, [() => accepts(value, resolved.path), what])
  }
  return { ...resolved, logger: harmless(resolved.logger) }
}

/** Whether `text` is an origin in the only form in which a browser sends it (RFC 6454, section 6.2). */
export function isOrigin(text: unknown): boolean {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  // Not by `origin`, which is `null` for the pages of an application of its own scheme.
  const { protocol, host } = new URL(text)
  return host !== '' && !host.includes('*') && text === [protocol, host].join('//')
}

/** Whether `candidate` is a path at which no endpoint below `path` is. */
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
