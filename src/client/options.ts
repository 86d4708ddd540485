import { type Check, checkOptions } from '../base/check-options.ts'
import { consoleLogger, resolveEnvironment } from '../base/environment.default.ts'
import type { Environment } from '../base/environment.ts'
import { type SyncError, wrongOption } from '../base/errors.ts'
import { harmless, type Logger } from '../base/logger.ts'
import { defineModels, type ModelDefinitions, type Models } from '../models/models.ts'
import type { Merge as UntypedMerge } from '../mutations/writer.ts'
import type { CredentialOptions } from '../network/credentials.ts'
import type { EndpointOptions } from '../network/endpoints.ts'
import { isObject } from '../protocol/json.ts'
import { standardTxCodec, type TxCodec } from '../protocol/tx.ts'
import type { Store } from '../storage/store.ts'
import type { Merge } from './types.ts'

/** What a client is made of. Each option that is wrong is named by a ConfigurationError, in the constructor. */
export interface SyncClientOptions<M extends ModelDefinitions = ModelDefinitions>
  extends EndpointOptions,
    CredentialOptions {
  /**
   * Whose data it is: with the server it names the local database, so it stays the same when a token is refreshed,
   * and includes the user and whatever the server filters by, an organization for example. `null`: in memory only. Required with
   * a durable store.
   */
  readonly identity?: string | null
  /**
   * Called after a 401, once for each credential however many calls fail together, and once where the credentials have
   * become another user's. It may return a new token, or a promise of one; otherwise syncing pauses until `resume()`.
   */
  readonly onUnauthenticated?: ((error: SyncError) => unknown) | undefined
  /** The types of the application; without them every type is taken as it comes. */
  readonly models?: M | Models<M> | undefined
  /** Where the local copy is kept. @default memory only */
  readonly store?: Store | undefined
  /** How often to fetch where nothing is pushed, in ms. @default 30_000 */
  readonly pollInterval?: number | undefined
  /** The bodies of transactions, for a server whose bodies are others. @default the protocol's */
  readonly transactionCodec?: TxCodec | undefined
  /** Gives what is to be written in place of a rejected transaction. @default it waits in `outbox` */
  readonly merge?: Merge<NoInfer<M>> | undefined
  /** How long the data may take to show an accepted transaction before it is fetched, in ms. @default 1_000 */
  readonly echoTimeout?: number | undefined
  /** What a developer may want to read. @default warnings and errors go to the console */
  readonly logger?: Logger | undefined
  /** What stands in place of the surroundings: `fetch`, `WebSocket`, the clock. @default the globals */
  readonly environment?: Partial<Environment> | undefined
}

/** The options as they are used. */
export interface ResolvedOptions<M extends ModelDefinitions> {
  readonly endpoints: EndpointOptions
  readonly credentials: CredentialOptions
  readonly identity: string | null
  readonly onUnauthenticated: NonNullable<SyncClientOptions['onUnauthenticated']>
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
const isText = (value: unknown) => typeof value === 'string' && value !== ''
const credential: Check = [
  (value) => isText(value) || isFunction(value),
  'a text, or a function that gives one',
]

/** What each option must be; those that say more about themselves are checked where they are read. */
const expected: {
  readonly [Name in keyof Required<SyncClientOptions>]: Check
} = {
  baseUrl: [(value) => isText(value) || isObject(value), 'an address, or { http, ws }'],
  endpoints: [isObject, '{ bootstrapUrl, deltaUrl, wsUrl, txUrl? }'],
  token: credential,
  apiKey: credential,
  identityOf: [isFunction, 'a function'],
  identity: [(value) => isText(value) || value === null, 'a text that names whose data it is, or null'],
  onUnauthenticated: [isFunction, 'a function'],
  models: [isObject, 'what defineModels gives, or an object of schemas'],
  store: [(value) => isObject(value) && isFunction(value.open), 'a store, as indexedDbStore() gives it'],
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

/** Throws a ConfigurationError that names the option. */
export function resolveOptions<M extends ModelDefinitions>(
  options: SyncClientOptions<M>,
): ResolvedOptions<M> {
  checkOptions(options, expected)
  const { baseUrl, endpoints, token, apiKey, identityOf, models, store } = options
  if (identityOf ? !options.identity : store?.kind === 'durable' && options.identity === undefined) {
    throw wrongOption(
      'identity',
      'is missing; a durable store and `identityOf` need to know whose data it is (null: keep none).',
    )
  }
  return {
    endpoints: { baseUrl, endpoints },
    credentials: { token, apiKey, identityOf },
    identity: options.identity ?? null,
    onUnauthenticated: options.onUnauthenticated ?? (() => undefined),
    models: defineModels<M>(models ?? ({} as M)),
    store,
    pollInterval: options.pollInterval ?? 30_000,
    codec: options.transactionCodec ?? standardTxCodec,
    // The models say what the application may take the mutator's records for.
    merge: options.merge as UntypedMerge | undefined,
    echoTimeout: options.echoTimeout ?? 1_000,
    logger: harmless(options.logger ?? consoleLogger),
    environment: resolveEnvironment(options.environment, apiKey !== undefined),
  }
}
