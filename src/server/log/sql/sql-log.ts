import type { TableCheck } from '../../tables/check-tables.ts'
import type { Log } from '../log.ts'

/** A log in PostgreSQL, which several processes may share, or in a folder, which belongs to one process. */
export interface SqlLog extends Log {
  /**
   * Starts a new epoch, so that every client fetches a snapshot. Call it after every restore from a backup: the
   * database cannot always detect a restore.
   */
  newEpoch(): Promise<void>
  claim(ownerField: string): Promise<void>
  /**
   * Collects the statistics from which the database plans its reads. Call it after many changes: a folder does so by
   * itself only every 10 minutes, and PostgreSQL when its autovacuum gets to it.
   */
  analyze(): Promise<void>
  /**
   * Runs statements of the application in a transaction of the database, and commits when `work` resolves. For a
   * folder, whose database only this process can reach; nothing else is done meanwhile. Its statements must not change
   * the tables of Instep.
   */
  sql<T>(work: (query: SqlQuery) => Promise<T>): Promise<T>
  /**
   * Attaches the tables of the option `tables`, or changes how they are attached. Safe to interrupt, and to run again.
   * Rejects with a ConfigurationError, before anything is changed, if a table cannot be attached. `onStep` is called
   * with a sentence after each step.
   */
  attach(ownerField: string, onStep?: (sentence: string) => void): Promise<void>
  /** Detaches the types of the option `tables`. Their records stay in the log. Safe to interrupt, and to run again. */
  detach(ownerField: string, onStep?: (sentence: string) => void): Promise<void>
  /**
   * Detaches all types, and drops all tables and functions of Instep. Only `close` the log afterwards. Rejects with a
   * ConfigurationError if records are in Instep alone. Safe to interrupt, and to run again.
   */
  detachAll(onStep?: (sentence: string) => void): Promise<void>
  /**
   * Compares the attached tables with the records, at one moment. With `repair`, the records that differ are taken from
   * their rows afterwards.
   */
  checkTables(ownerField: string, options?: { readonly repair?: boolean }): Promise<readonly TableCheck[]>
}

export interface SqlRow {
  readonly [column: string]: unknown
}

/** Runs a statement with the parameters `$1`, `$2`, …. Resolves with its rows. */
export type SqlQuery = (text: string, values?: readonly unknown[]) => Promise<readonly SqlRow[]>
