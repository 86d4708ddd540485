import type { Log } from '../log.ts'

/** A log in PostgreSQL, which any number of processes may share, or in a folder. */
export interface SqlLog extends Log {
  /**
   * Gives the history another name, so that every client starts from a snapshot: to be done after a restore from a
   * backup, where the database itself cannot tell that there was one.
   */
  newEpoch(): Promise<void>
}
