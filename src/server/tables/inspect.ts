import { sql } from 'kysely'
import { wrongOption } from '../../base/errors.ts'
import type { Db } from '../log/sql/database.ts'
import { isDenied } from '../log/sql/refusal.ts'
import { type ColumnType, type Conversion, conversionOf, isKeyType } from './columns.ts'
import type { TypeMapping } from './mapping.ts'
import { identifier } from './quote.ts'

/** A field, and the column that holds it. */
export interface FieldColumns {
  readonly field: string
  readonly column: string
  readonly type: ColumnType
  readonly conversion: Conversion
  /** Whether only the database sets the column. */
  readonly isGenerated: boolean
}

/** A mapping, and the table that it names. */
export interface MappedTable {
  readonly mapping: TypeMapping
  /** The table in SQL, with its schema. */
  readonly relation: string
  readonly isPartitioned: boolean
  readonly key: ColumnType
  /** Whether only the database sets the key. */
  readonly isKeyGenerated: boolean
  readonly owner: ColumnType
  readonly fields: readonly FieldColumns[]
}

interface FoundTable {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: string
  readonly isPartition: boolean
  readonly hasChildren: boolean
  readonly isTemporary: boolean
}

interface FoundColumn extends ColumnType {
  readonly column: string
  readonly isKey: boolean
  readonly isRequired: boolean
  /** Whether the collation of the column treats different texts as equal. */
  readonly isLoose: boolean
  readonly isGenerated: boolean
}

/** Why a relation cannot be attached, by its kind in `pg_class`. Only ordinary and partitioned tables can. */
const refusedKinds: Readonly<Record<string, string>> = {
  v: 'a view',
  m: 'a materialized view',
  f: 'a foreign table',
  S: 'a sequence',
  c: 'a composite type',
  i: 'an index',
}

/**
 * Reads the table of a mapping from the catalog. Rejects with a ConfigurationError that names the table or the column
 * that cannot be attached, and says why.
 */
export async function inspect(db: Db, mapping: TypeMapping): Promise<MappedTable> {
  const at = `tables.${mapping.type}`
  const table = await findTable(db, mapping.table, `${at}.table`)
  const columns = new Map((await findColumns(db, table.oid)).map((column) => [column.column, column]))
  const columnOf = (name: string, option: string): FoundColumn => {
    const column = columns.get(name)
    if (column) return column
    throw wrongOption(option, `names the column \`${name}\`, which ${mapping.table} does not have.`)
  }
  const key = columnOf(mapping.id, `${at}.id`)
  checkKey(key, mapping, `${at}.id`)
  const owner = columnOf(mapping.owner.column, `${at}.owner`)
  if (!isKeyType(owner) && !owner.isEnum) {
    throw wrongOption(
      `${at}.owner`,
      `names a column of the type ${owner.name}, which cannot name an owner; use a text, a uuid, an integer or an enum.`,
    )
  }
  const fields = mapping.fields.map(({ field, column, asNumber }) => {
    const type = columnOf(column, `${at}.fields`)
    const conversion = conversionOf(type, { asNumber, jsonFunction: 'instep_json' })
    if (conversion) return { field, column, type, conversion, isGenerated: type.isGenerated }
    const reason = asNumber
      ? "only an int8 column takes `as: 'number'`"
      : 'no conversion to JSON exists for it'
    const name = `${type.name}${type.isArray ? '[]' : ''}`
    throw wrongOption(`${at}.fields`, `names the column \`${column}\` of the type ${name}; ${reason}.`)
  })
  const relation = `${identifier(table.schema)}.${identifier(table.name)}`
  await checkReadable(db, relation, `${at}.table`)
  return {
    mapping,
    relation,
    isPartitioned: table.kind === 'p',
    key,
    isKeyGenerated: key.isGenerated,
    owner,
    fields,
  }
}

/** The columns of a mapping with their types, to notice when they change. */
export function columnsOf({ mapping, key, owner, fields }: MappedTable): Readonly<Record<string, string>> {
  const nameOf = ({ name, isArray }: ColumnType) => `${name}${isArray ? '[]' : ''}`
  const listed = fields.map(({ column, type }) => [column, nameOf(type)])
  return Object.fromEntries([[mapping.id, nameOf(key)], [mapping.owner.column, nameOf(owner)], ...listed])
}

async function findTable(db: Db, name: string, option: string): Promise<FoundTable> {
  const dot = name.indexOf('.')
  const quoted =
    dot < 0 ? identifier(name) : `${identifier(name.slice(0, dot))}.${identifier(name.slice(dot + 1))}`
  const { rows } = await sql<FoundTable>`
    select c.oid::int8 as oid, n.nspname as schema, c.relname as name, c.relkind as kind,
      c.relispartition as "isPartition", c.relpersistence = 't' as "isTemporary",
      exists (select from pg_inherits i where i.inhparent = c.oid or i.inhrelid = c.oid) as "hasChildren"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = to_regclass(${quoted})`.execute(
    db,
  )
  const [table] = rows
  if (!table) throw wrongOption(option, `names the table ${name}, which does not exist.`)
  const kind = refusedKinds[table.kind]
  if (kind !== undefined)
    throw wrongOption(option, `names ${name}, which is ${kind}; only tables can be attached.`)
  if (table.isPartition) {
    throw wrongOption(option, `names ${name}, which is a partition; name the partitioned table.`)
  }
  if (table.kind === 'r' && table.hasChildren) {
    throw wrongOption(
      option,
      `names ${name}, which inherits or is inherited from; only partitioning is supported.`,
    )
  }
  if (table.isTemporary)
    throw wrongOption(
      option,
      `names ${name}, which is a temporary table; only permanent tables can be attached.`,
    )
  return table
}

/** With `row_security = off`, reading a table whose policies would hide rows is an error. */
async function checkReadable(db: Db, relation: string, option: string): Promise<void> {
  try {
    await sql`select from ${sql.raw(relation)} limit 0`.execute(db)
  } catch (error) {
    if (!isDenied(error)) throw error
    throw wrongOption(
      option,
      `names ${relation}, all of whose rows the role of the service must be able to read; grant it select, and if the table has policies, use its owner or a role with bypassrls.`,
    )
  }
}

/** Follows domains to their base types. */
async function findColumns(db: Db, oid: number): Promise<readonly FoundColumn[]> {
  const { rows } = await sql<FoundColumn>`
    select a.attname as column, coalesce(e.typname, b.typname) as name, e.oid is not null as "isArray",
      format_type(coalesce(e.oid, b.oid), null) as cast, coalesce(e.typtype, b.typtype) = 'e' as "isEnum",
      exists (
        select from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate
          and i.indnkeyatts = 1 and i.indkey[0] = a.attnum and i.indpred is null
      ) as "isKey", a.attnotnull as "isRequired",
      coalesce((select not collisdeterministic from pg_collation l where l.oid = a.attcollation), false) as "isLoose",
      a.attgenerated <> '' or a.attidentity = 'a' as "isGenerated"
    from pg_attribute a cross join lateral (
      with recursive base (oid) as (
        select a.atttypid
        union all
        select t.typbasetype from base join pg_type t on t.oid = base.oid where t.typtype = 'd'
      )
      select t.* from base join pg_type t on t.oid = base.oid where t.typtype <> 'd'
    ) b
    left join pg_type e on e.oid = b.typelem and b.typcategory = 'A'
    where a.attrelid = ${oid}::int8::oid and a.attnum > 0 and not a.attisdropped`.execute(db)
  return rows
}

function checkKey(key: FoundColumn, { table, id }: TypeMapping, option: string): void {
  if (!key.isKey) {
    throw wrongOption(
      option,
      `names the column \`${id}\`, which alone is not a key of ${table}; add a primary key or a unique constraint on this column only.`,
    )
  }
  if (!key.isRequired) {
    throw wrongOption(option, `names the column \`${id}\`, which may be null; set it not null.`)
  }
  if (key.isLoose) {
    throw wrongOption(
      option,
      `names the column \`${id}\`, whose collation is not deterministic, so that different ids may be equal; use a deterministic collation.`,
    )
  }
  if (!isKeyType(key)) {
    throw wrongOption(
      option,
      `names a column of the type ${key.name}; an id must be a text, a uuid or an integer.`,
    )
  }
}
