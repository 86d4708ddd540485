import type { SyncError } from '../base/errors.ts'
import type { MutationsOptions } from '../mutations/mutations.ts'
import type { RealtimeSocket, RealtimeSocketListener } from '../network/realtime-socket.ts'
import type { DatabaseOptions } from '../persistence/connection.ts'
import type { Disk } from '../persistence/disk.ts'
import type { LeaderLock } from '../tabs/leadership.ts'

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
  readonly database: DatabaseOptions
  /** Called when this client has attached, before the stored transactions are read. Never rejects. */
  readonly takeOver: (disk: Disk) => Promise<void>
  /** Deletes the database, unless another client has it open. */
  readonly destroyDatabase: () => Promise<void>
  /** The locks that all clients of the database share, and the name of the lock that its leader holds. */
  readonly lock: LeaderLock | undefined
  /** The name of the database. */
  readonly name: string
  /** In ms. */
  readonly pollInterval: number
  /** Called once for each refused credential. If it returns a token, the client uses that token. */
  readonly onUnauthenticated: ((error: SyncError) => unknown) | undefined
}
