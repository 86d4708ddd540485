import { type Check, checkOptions } from '../base/check-options.ts'
import { consoleLogger, resolveEnvironment } from '../base/environment.default.ts'
import type { Environment } from '../base/environment.ts'
import { type SyncError, wrongOption } from '../base/errors.ts'
import { type Logger, nonThrowing } from '../base/logger.ts'
import { defineModels, type ModelDefinitions, type Models } from '../models/models.ts'
import type { Merge as UntypedMerge } from '../mutations/writer.ts'
import type { CredentialOptions } from '../network/credentials.ts'
import type { EndpointOptions } from '../network/endpoints.ts'
import { isObject } from '../protocol/json.ts'
import { standardTxCodec, type TxCodec } from '../protocol/tx.ts'
import type { Store } from '../storage/store.ts'
import type { Merge } from './types.ts'

/** The options of a client. The constructor throws a ConfigurationError that names the first wrong option. */
export interface SyncClientOptions<M extends ModelDefinitions = ModelDefinitions>
  extends EndpointOptions,
    CredentialOptions {
  /**
   * The addresses that this service had before: each a former `baseUrl`, or a former `endpoints.bootstrapUrl`. Writes of
   * this `identity` that wait in the databases of these addresses, also rejected ones, are moved to the present one, and
   * sent; then the former database is deleted. An empty list: there are none, or several services share the `identity`.
   * @default an `error` is emitted if such a database has unsent writes and the store has `names`
   */
  readonly movedFrom?: readonly string[] | undefined
  /**
   * Names the owner of the data. Together with the server's address, `identity` selects the local database. It must
   * include the user and everything that the server filters by, such as an organization, and must not change when a
   * token is refreshed. `null`: the data is in memory only. Required with a durable store and with `identityOf`.
   * @default null
   */
  readonly identity?: string | null
  /**
   * Called after a 401, once for each refused credential, and once if the credentials now belong to another user. May
   * return a new token, or a promise of one; otherwise syncing pauses until `resume()`. If two tokens in a row were
   * refused, the client waits before it uses the next one. If the function throws or rejects, the client emits an
   * `error`, and calls it again after a wait. One tab at a time calls it, and passes the token on to the others.
   */
  readonly onUnauthenticated?: ((error: SyncError) => unknown) | undefined
  /** The models of the application's types. Without models, records are not checked and have no specific type. */
  readonly models?: M | Models<M> | undefined
  /** The store of the local copy. @default memory only */
  readonly store?: Store | undefined
  /** The time between two fetches while nothing is pushed, in ms, at least 100. @default 30_000 */
  readonly pollInterval?: number | undefined
  /**
   * Encodes and decodes the bodies of `tx` requests, for a server with another format. @default the protocol's format
   */
  readonly transactionCodec?: TxCodec | undefined
  /**
   * Returns a function that writes the replacement of a rejected transaction. @default the transaction stays in
   * `outbox`
   */
  readonly merge?: Merge<NoInfer<M>> | undefined
  /** The wait for the data of an accepted transaction before the client fetches the data, in ms. @default 1_000 */
  readonly echoTimeout?: number | undefined
  /** Receives log messages. @default `consoleLogger()`: warnings and errors go to the console */
  readonly logger?: Logger | undefined
  /** Replaces globals: `fetch`, `WebSocket`, the clock, and others. @default the globals */
  readonly environment?: Partial<Environment> | undefined
}

/** The checked options, with defaults. */
export interface ResolvedOptions<M extends ModelDefinitions> {
  readonly endpoints: EndpointOptions
  readonly credentials: CredentialOptions
  readonly identity: string | null
  readonly movedFrom: readonly string[] | undefined
  readonly onUnauthenticated: SyncClientOptions['onUnauthenticated']
  readonly models: Models<M>
  readonly store: Store | undefined
  readonly pollInterval: number
  readonly codec: TxCodec
  readonly merge: UntypedMerge | undefined
  readonly echoTimeout: number
  readonly logger: Logger
  readonly environment: Environment
}

const isFunction = (value: unknown) => typeof value === 'function'
const isFilled = (value: unknown) => typeof value === 'string' && value !== ''
const credential: Check = [
  (value) => isFilled(value) || isFunction(value),
  'a string, or a function that returns one',
]

/** The check of each option. Some options are checked in more detail by the code that uses them. */
const expected: {
  readonly [Name in keyof Required<SyncClientOptions>]: Check
} = {
  baseUrl: [(value) => isFilled(value) || isObject(value), 'an address, or { http, ws }'],
  endpoints: [isObject, '{ bootstrapUrl, deltaUrl, wsUrl, txUrl? }'],
  token: credential,
  apiKey: credential,
  identityOf: [isFunction, 'a function'],
  movedFrom: [Array.isArray, 'a list of addresses'],
  identity: [(value) => isFilled(value) || value === null, 'a string that is not empty, or null'],
  onUnauthenticated: [isFunction, 'a function'],
  models: [isObject, 'an object of schemas, or the result of defineModels'],
  store: [(value) => isObject(value) && isFunction(value.open), 'a store, such as indexedDbStore()'],
  pollInterval: [(value) => typeof value === 'number' && value >= 100, 'a number of ms, 100 or more'],
  transactionCodec: [
    (value) =>
      isObject(value) &&
      isFunction(value.encode) &&
      isFunction(value.decode) &&
      Number(value.maxTransactions ?? 1) >= 1,
    '{ encode, decode, maxTransactions? }, with maxTransactions of 1 or more',
  ],
  merge: [isFunction, 'a function'],
  echoTimeout: [(value) => typeof value === 'number' && value >= 0, 'a number of ms, 0 or more'],
  logger: [(value) => isObject(value) && isFunction(value.warn), '{ debug, info, warn, error }'],
  environment: [isObject, 'an object with some parts of the environment'],
}

/** Checks `options` and adds defaults. Throws a ConfigurationError that names the first wrong option. */
export function resolveOptions<M extends ModelDefinitions>(
  options: SyncClientOptions<M>,
): ResolvedOptions<M> {
  checkOptions(options, expected)
  const { baseUrl, endpoints, token, apiKey, identityOf, models, store } = options
  if (identityOf ? !options.identity : store?.kind === 'durable' && options.identity === undefined) {
    throw wrongOption('identity', 'must be a string; without `identityOf`, null keeps the data in memory.')
  }
  return {
    endpoints: { baseUrl, endpoints },
    credentials: { token, apiKey, identityOf },
    identity: options.identity ?? null,
    movedFrom: options.movedFrom,
    onUnauthenticated: options.onUnauthenticated,
    models: defineModels<M>(models ?? ({} as M)),
    store,
    pollInterval: options.pollInterval ?? 30_000,
    codec: options.transactionCodec ?? standardTxCodec,
    // Models exist only as types here: the mutator's records are the same with and without models.
    merge: options.merge as UntypedMerge | undefined,
    echoTimeout: options.echoTimeout ?? 1_000,
    logger: nonThrowing(options.logger ?? consoleLogger()),
    environment: resolveEnvironment(options.environment, apiKey !== undefined),
  }
}
