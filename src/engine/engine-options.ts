import type { SyncError } from '../base/errors.ts'
import type { MutationsOptions } from '../mutations/mutations.ts'
import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import type { Database } from '../persistence/database.ts'

/** The options that the mutations need as well. */
type Shared = Pick<
  MutationsOptions,
  | 'environment'
  | 'logger'
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
  readonly createSocket: (listener: RealtimeSocketListener) => RealtimeSocket
  /** `beside`: another client owns the stored data, and this client must not take it over. */
  readonly openDatabase: (beside: boolean) => Promise<Database>
  /** In ms. */
  readonly pollInterval: number
  /** Called once for each refused credential. If it returns a token, the client uses that token. */
  readonly onUnauthenticated: (error: SyncError) => unknown
}
