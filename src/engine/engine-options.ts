import type { SyncError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { MutationsOptions } from '../mutations/mutations.ts'
import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import type { Database } from '../persistence/database.ts'

/** Those that writing needs as well. */
type Shared = Pick<
  MutationsOptions,
  | 'environment'
  | 'transport'
  | 'credentials'
  | 'codec'
  | 'canWrite'
  | 'replica'
  | 'models'
  | 'merge'
  | 'echoTimeout'
>

export interface EngineOptions extends Shared {
  readonly logger: Logger
  readonly createSocket: (listener: RealtimeSocketListener) => RealtimeSocket
  /** `beside`: another client has the data, and keeps it. */
  readonly openDatabase: (beside: boolean) => Promise<Database>
  /** In ms. */
  readonly pollInterval: number
  /** Called once for each credential that was refused; a token that it gives is used. */
  readonly onUnauthenticated: (error: SyncError) => unknown
}
