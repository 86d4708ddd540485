import type { Check } from '../base/check-options.ts'
import { isObject } from '../protocol/json.ts'
import type { Caller } from '../server/auth/caller.ts'
import type { ServiceOptions } from './backend.ts'
import type { BareOptions } from './bare.ts'
import { isDuration, isFunction, isNumber, oneOf } from './checks.ts'

/** The options of the service, and of the network and the clock of the test. */
export interface MockSyncServerOptions extends ServiceOptions {
  /** @default 'https://sync.test/sync/v1' */
  readonly baseUrl?: string
  /** The field that names the owner of a record. Only callers with this owner see the record. @default 'userId' */
  readonly ownerField?: string
  /**
   * Returns the caller of an identity. Called for each request, so that a test can change the `owners` of an identity.
   * @default the identity itself, as user, as organization and as the only owner
   */
  readonly callerOf?: (identity: string) => Caller
  /** The time that a message takes one way, in ms. @default 20; 0 in real time */
  readonly latencyMs?: number
  /** Makes the server speak as one that has only the core of the protocol and `POST /tx`, in one of its ways. */
  readonly bare?: BareOptions
  /** The seed of all random numbers. @default 1 */
  readonly seed?: number
}

/** The service checks its options itself. */
const ofService: Check = [() => true, '']

const isOptions: Check = [(value) => isObject(value), 'an object of options']

const isAddress: Check = [
  (value) => typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value),
  "an address like 'https://sync.test/sync/v1'",
]

export const mockChecks = {
  clock: oneOf(['virtual', 'real']),
  baseUrl: isAddress,
  ownerField: ofService,
  callerOf: isFunction,
  latencyMs: isDuration,
  bare: isOptions,
  seed: isNumber,
  authorize: ofService,
  prepare: ofService,
  models: ofService,
  onCommit: ofService,
  heartbeatMs: ofService,
  recheckMs: ofService,
  maxBufferedBytes: ofService,
  maxSockets: ofService,
  maxBodyBytes: ofService,
  maxTransactions: ofService,
  maxOps: ofService,
  maxRecordBytes: ofService,
  rateLimit: ofService,
  healthPath: ofService,
  metrics: ofService,
  logger: ofService,
} satisfies Record<keyof MockSyncServerOptions | 'clock', Check>
