import type { SyncError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { World } from '../base/world.ts'
import type { Database } from '../database/database.ts'
import type { Models } from '../models/models.ts'
import type { TxCodec } from '../protocol/tx.ts'
import type { Replica } from '../replica/replica.ts'
import type { Merge } from '../session/writer.ts'
import type { Credentials } from '../transport/credentials.ts'
import type { Link, LinkListener } from '../transport/link.ts'
import type { Transport } from '../transport/transport.ts'

export interface LocalSessionOptions {
  readonly world: World
  readonly logger: Logger
  readonly transport: Transport
  readonly createLink: (listener: LinkListener) => Link
  /** `beside`: another client has the data, and keeps it. */
  readonly openDatabase: (beside: boolean) => Promise<Database>
  readonly replica: Replica
  /** In ms. */
  readonly pollInterval: number
  readonly credentials: Credentials
  /** Called once for each credential that was refused; a token that it gives is used. */
  readonly onUnauthenticated: (error: SyncError) => unknown
  readonly models: Models
  readonly codec: TxCodec
  /** Whether there is somewhere to send transactions. */
  readonly canWrite: boolean
  readonly merge: Merge | undefined
  /** How long the data may take to show what was accepted, before it is fetched, in ms. */
  readonly echoWait: number
}
