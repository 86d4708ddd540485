import type { Check } from '../base/check-options.ts'
import type { Caller, OwnerField } from '../server/auth/caller.ts'
import type { ServiceOptions } from './backend.ts'
import { isDuration, isFunction, isNumber, oneOf } from './checks.ts'

/** Those of the service, and of what lies before it. */
export interface MockSyncServerOptions extends ServiceOptions {
  /** @default 'https://sync.test/sync/v1' */
  readonly baseUrl?: string
  /** The field of each record that names its owner, who alone sees it. @default 'userId' */
  readonly ownerField?: OwnerField
  /** Whom an identity names. @default its text, as user and as organization */
  readonly callerOf?: (identity: string) => Caller
  /** How long a message takes one way, in ms. @default 20; 0 in real time */
  readonly latencyMs?: number
  /** What is random follows from it. @default 1 */
  readonly seed?: number
}

/** The service checks its own. */
const ofService: Check = [() => true, '']

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
  seed: isNumber,
  authorize: ofService,
  models: ofService,
  onCommit: ofService,
  heartbeatMs: ofService,
  recheckMs: ofService,
  maxBufferedBytes: ofService,
  maxBodyBytes: ofService,
  maxTransactions: ofService,
  maxOps: ofService,
  maxRecordBytes: ofService,
  rateLimit: ofService,
  healthPath: ofService,
  metrics: ofService,
  logger: ofService,
} satisfies Record<keyof MockSyncServerOptions | 'clock', Check>
