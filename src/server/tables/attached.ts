import { sql } from 'kysely'
import type { Db } from '../log/sql/database.ts'
import { columnsOf, type MappedTable } from './inspect.ts'
import { digestOf, type TypeMapping } from './mapping.ts'
import { triggerNames } from './triggers.ts'

/** An attached type, as the database describes it. */
export interface Attachment {
  readonly t: string
  /** The table in SQL, with its schema. */
  readonly relation: string
  /** The digests of the attached mapping, and of the mappings that were attached before it. */
  readonly digest: string
  readonly earlier: readonly string[]
  /** The columns with their types, as they were when the type was attached. */
  readonly columns: Readonly<Record<string, string>>
  /** Whether the keys of all rows were put into `instep_change` after the type was attached. */
  readonly filled: boolean
  readonly attached: boolean
}

export async function readAttachments(db: Db): Promise<ReadonlyMap<string, Attachment>> {
  const { rows } = await sql<Attachment>`
    select t, relation, digest, earlier, columns, filled, attached from instep_table order by t`.execute(db)
  return new Map(rows.map((row) => [row.t, row]))
}

/** The digest of a mapping, and of the table that it names. */
export function mappingDigest({
  mapping,
  relation,
}: {
  readonly mapping: TypeMapping
  readonly relation: string
}): string {
  const { type: _, ...rest } = mapping
  return digestOf({ ...rest, table: relation })
}

/** The state of an attached table, compared with the mapping of a service. */
export type AttachmentState =
  /** Nothing has changed since it was attached. */
  | 'same'
  /** Columns have other types or were created again, so rows may have other values. */
  | 'columns'
  /** The mapping of the service is an earlier one. */
  | 'older'
  /** It was never attached with this mapping. */
  | 'unattached'
  /** The attachment was interrupted. */
  | 'unfilled'
  /** A trigger is missing or disabled. */
  | 'triggers'

export async function attachmentStateOf(
  db: Db,
  table: MappedTable,
  attachment: Attachment | undefined,
): Promise<AttachmentState> {
  if (!attachment?.attached) return 'unattached'
  const digest = mappingDigest(table)
  if (digest !== attachment.digest) return attachment.earlier.includes(digest) ? 'older' : 'unattached'
  if (!(await hasTriggers(db, table))) return 'triggers'
  if (!attachment.filled) return 'unfilled'
  const columns = columnsOf(table)
  const isSame = Object.entries(columns).every(([column, type]) => attachment.columns[column] === type)
  return isSame ? 'same' : 'columns'
}

/** Whether the table has all triggers, including those that a partition inherits, and each is always enabled. */
export async function hasTriggers(db: Db, { relation }: Pick<MappedTable, 'relation'>): Promise<boolean> {
  const { rows } = await sql<{ complete: boolean }>`
    select count(*) filter (where tgenabled = 'A') = ${sql.lit(triggerNames.length)} as complete
    from pg_trigger where tgrelid = to_regclass(${relation}) and tgname = any(${[...triggerNames]}::text[])`.execute(
    db,
  )
  return rows[0]?.complete === true
}

/** The schema of Instep's tables. */
export async function schemaOfLog(db: Db): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select n.nspname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = to_regclass('instep_change')`.execute(db)
  return rows[0]?.name ?? 'public'
}
