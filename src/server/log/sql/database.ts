import type { Kysely, RawBuilder } from 'kysely'
import type { Unsubscribe } from '../../../base/emitter.ts'

/** Statements are written as SQL, so no table has a type of its own. */
export type Db = Kysely<unknown>

/** How this process reaches the database of a log. */
export interface SqlDatabase {
  /** For making the tables, or bringing them up to date, which takes as long as there is much in them. */
  readonly migrators: Db
  /** For writes, which wait for one another. */
  readonly writers: Db
  /** For what must not wait behind a write or a slow reader. */
  readonly followers: Db
  /** For reads that may last until somebody has taken what they give. */
  readonly readers: Db
  /** The same for those that are short, and must not wait behind the others. */
  readonly deltas: Db
  /** Whether these are all one connection, which no reader may keep to itself. */
  readonly single: boolean
  /** What names the history, read in the snapshot of the statement that it is part of. */
  readonly history: RawBuilder<string>
  /** Says to the other processes that there is something new. Goes into a statement, and happens when it commits. */
  readonly notify: RawBuilder<unknown>
  /** Calls `listener` when another process may have written, and whenever it may have been missed. */
  listen(listener: () => void): Unsubscribe
  close(): Promise<void>
}
