import { sql } from 'kysely'
import { toError } from '../../base/errors.ts'
import type { DatabaseRole } from '../log/database-role.ts'
import { RuleFailure } from '../log/rules.ts'
import type { Db } from '../log/sql/database.ts'
import { rejectionOf } from './refuse-op.ts'

/** A setting and its value, in the order in which they are set. */
type Setting = readonly [name: string, value: string]

/**
 * The role and the settings of a client's ops, in one transaction of the database. All of it ends with the transaction,
 * or with the savepoint if the ops fail.
 */
export class AssumedRole {
  readonly #db: Db
  readonly #own: readonly Setting[]
  #before: readonly Setting[] | undefined

  constructor(db: Db, { role, settings = {} }: DatabaseRole) {
    this.#db = db
    this.#own = [
      ...Object.entries(settings),
      ['row_security', 'on'],
      ...(role === undefined ? [] : [['role', role] as const]),
    ]
  }

  /** Runs `work` under the role. If `work` fails, roll the transaction back to a savepoint. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#before ??= await this.#read()
    try {
      await this.#set(this.#own)
    } catch (error) {
      // Not a verdict on the ops: the role is unknown, or not granted.
      if (!rejectionOf(error)) throw error
      throw new RuleFailure(
        new Error(`The role that \`as\` returned cannot be set: ${toError(error).message}`),
      )
    }
    const result = await work()
    await this.#set(this.#before)
    return result
  }

  async #set(settings: readonly Setting[]): Promise<void> {
    const calls = settings.map(([name, value]) => sql`set_config(${name}::text, ${value}::text, true)`)
    await sql`select ${sql.join(calls)}`.execute(this.#db)
  }

  async #read(): Promise<readonly Setting[]> {
    // Restore the role first: the previous role then restores the other settings.
    const names = this.#own.map(([name]) => name).reverse()
    const { rows } = await sql<{ name: string; value: string | null }>`
      select name, current_setting(name, true) as value
      from unnest(${names}::text[]) with ordinality as n(name, place) order by place`.execute(this.#db)
    return rows.map(({ name, value }) => [name, value ?? ''])
  }
}
