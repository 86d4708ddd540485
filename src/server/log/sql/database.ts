import type { Kysely, RawBuilder } from 'kysely'
import type { Unsubscribe } from '../../../base/emitter.ts'
import type { Notice } from './channel.ts'
import type { PageReads } from './page-reads.ts'

/** Statements are plain SQL, so the tables need no types. */
export type Db = Kysely<unknown>

/** The connections of this process to the database of a log. */
export interface SqlDatabase {
  /** For creating and migrating the tables, which may take long. */
  readonly migrators: Db
  /** For writes, which run one after the other. */
  readonly writers: Db
  /** For clients' transactions on tables of the application, which may wait for others' rows. */
  readonly appliers: Db
  /** The number of connections of `appliers`. */
  readonly maxAppliers: number
  /** For short tasks that must not wait for a write or a slow reader. */
  readonly followers: Db
  /** For reads that may last as long as the client reads. */
  readonly readers: Db
  /** For short reads, which must not wait for long ones. */
  readonly deltas: Db
  /** If all of these share one connection, reads are made in pages. */
  readonly pageReads?: PageReads | undefined
  /** An expression that names the history, for use in a statement. */
  readonly history: RawBuilder<string>
  /** An expression that notifies other processes when its statement commits. */
  readonly notify: RawBuilder<unknown>
  /**
   * Calls `listener` when another process may have written, or rows of an attached table have changed; and with both
   * after any time in which notifications may have been missed.
   */
  listen(listener: (notice: Notice) => void): Unsubscribe
  close(): Promise<void>
}
