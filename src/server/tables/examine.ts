import { sql } from 'kysely'
import { isSyncError } from '../../base/errors.ts'
import type { Db } from '../log/sql/database.ts'
import { isOfSchema, sqlStateOf } from '../log/sql/sql-state.ts'
import { type Attachment, type AttachmentState, attachmentStateOf, mappingDigest } from './attached.ts'
import { inspect, type MappedTable } from './inspect.ts'
import type { TypeMapping } from './mapping.ts'
import { identifier } from './quote.ts'

export interface FittingTable {
  readonly table: MappedTable
  readonly state: Exclude<AttachmentState, 'triggers'>
}

/** What a look at the catalog has found. `unfit`: why the table of an attached type does not fit. */
export type Examined = FittingTable | { readonly unfit: string }

/**
 * Compares a mapping with the catalog. Rejects with a ConfigurationError if the type was never attached with this
 * mapping, and does not fit.
 */
export async function examine(
  db: Db,
  mapping: TypeMapping,
  attachment: Attachment | undefined,
): Promise<Examined> {
  const isAttached = attachment?.attached === true && isOf(mapping, attachment)
  try {
    const table = await inspect(db, mapping)
    const state = await attachmentStateOf(db, table, attachment)
    if (state === 'triggers')
      return { unfit: 'Its triggers are missing or disabled; run `instep attach` again.' }
    if (!isAttached || state !== 'unattached') return { table, state }
    return { unfit: `\`tables.${mapping.type}.table\` names ${table.relation}, which was not attached.` }
  } catch (error) {
    const reason = isAttached ? reasonOf(error) : undefined
    if (reason === undefined) throw error
    return { unfit: reason }
  }
}

/** Whether somebody has locked the attached table, as ALTER TABLE does, so that a look at it would wait. */
export async function isLocked(db: Db, relation: string): Promise<boolean> {
  try {
    const { rows } = await sql<{ locked: boolean }>`
      select to_regclass(${relation}) is not null and not instep_lock(${relation}) as locked`.execute(db)
    return rows[0]?.locked === true
  } catch (error) {
    // The table went away, or this role may not read it.
    if (isOfSchema(error)) return false
    throw error
  }
}

function reasonOf(error: unknown): string | undefined {
  if (isSyncError(error, 'ConfigurationError')) return error.message
  return isOfSchema(error) ? `Its table cannot be read (SQLSTATE ${sqlStateOf(error)}).` : undefined
}

/** Whether `mapping` is the attached one, as far as its text says: its table may be gone. */
function isOf(mapping: TypeMapping, { relation, digest }: Attachment): boolean {
  const name = mapping.table.slice(mapping.table.indexOf('.') + 1)
  return relation.endsWith(`.${identifier(name)}`) && mappingDigest({ mapping, relation }) === digest
}
