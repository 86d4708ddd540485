import type { Log } from '../log.ts'

/** A log in PostgreSQL, which any number of processes may share, or in a folder. */
export interface SqlLog extends Log {
  /**
   * Gives the history another name, so that every client starts from a snapshot: to be done after every restore
   * from a backup, since the database itself may not be able to tell that there was one.
   */
  newEpoch(): Promise<void>
  claim(ownerField: string): Promise<void>
}
