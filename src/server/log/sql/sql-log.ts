import type { Log } from '../log.ts'

/** A log in PostgreSQL, which several processes may share, or in a folder, which belongs to one process. */
export interface SqlLog extends Log {
  /**
   * Starts a new epoch, so that every client fetches a snapshot. Call it after every restore from a backup: the
   * database cannot always detect a restore.
   */
  newEpoch(): Promise<void>
  claim(ownerField: string): Promise<void>
}
