import type { Caller, OwnerField } from '../server/auth/caller.ts'
import type { ServiceOptions } from './backend.ts'

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

export const mockOptions = {
  clock: true,
  baseUrl: true,
  ownerField: true,
  callerOf: true,
  latencyMs: true,
  seed: true,
  authorize: true,
  models: true,
  onCommit: true,
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
} satisfies Record<keyof MockSyncServerOptions | 'clock', true>
