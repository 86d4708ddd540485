import { sql } from 'kysely'
import { toError, wrongOption } from '../../base/errors.ts'
import type { Db } from '../log/sql/database.ts'
import { isDenied, isOfSchema, isRefused, sqlStateOf } from '../log/sql/sql-state.ts'
import { type ColumnType, type Conversion, conversionOf, isKeyType } from './columns.ts'
import { oneKey, type TypeMapping } from './mapping.ts'
import { identifier, literal } from './quote.ts'

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
  /** What {@link columnsOf} returns. */
  readonly columns: Readonly<Record<string, string>>
  /** The type of each column in use: its `atttypid` and `atttypmod` in `pg_attribute`. See {@link haveTypes}. */
  readonly attributes: Readonly<Record<string, string>>
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
  /** The type in SQL, with its precision. */
  readonly spelled: string
  readonly attribute: string
  /** The labels of an enum, by their ids. */
  readonly labels: Readonly<Record<string, string>> | null
  readonly isKey: boolean
  /** The columns of a key that this column is only a part of. */
  readonly partOf: readonly string[] | null
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
      ? "only an int8 column takes `as: 'number'`, and a numeric column of at most 15 digits, like numeric(12, 2): a number in JavaScript holds no more"
      : 'no conversion to JSON exists for it'
    throw wrongOption(
      `${at}.fields`,
      `names the column \`${column}\` of the type ${type.spelled}; ${reason}.`,
    )
  })
  const relation = `${identifier(table.schema)}.${identifier(table.name)}`
  const used = [mapping.id, mapping.owner.column, ...mapping.fields.map((field) => field.column)]
  await checkReadable(db, relation, used, `${at}.table`)
  if (mapping.where !== undefined) await checkCondition(db, relation, mapping.where, `${at}.where`)
  const described = Object.assign({}, ...used.map((name) => describe(columnOf(name, at))))
  return {
    mapping,
    relation,
    isPartitioned: table.kind === 'p',
    key,
    isKeyGenerated: key.isGenerated,
    owner,
    fields,
    columns: described,
    attributes: Object.fromEntries(used.map((name) => [name, columnOf(name, at).attribute])),
  }
}

/**
 * The condition that the columns of `tables` have the types that {@link inspect} has found. It belongs into each
 * statement whose rows are recorded: with another type, a conversion may succeed and be wrong. Lock the tables before.
 */
export function haveTypes(tables: readonly MappedTable[]): string {
  const conditions = tables.map(({ relation, attributes }) => {
    // Compared as text, which takes the planner a quarter of the time.
    const columns = Object.entries(attributes).map(([name, types]) => literal(`${name} ${types}`))
    return `(select count(*) from pg_attribute where attrelid = to_regclass(${literal(relation)})
      and attname || ' ' || atttypid || ' ' || atttypmod = any(array[${columns.join()}])) = ${columns.length}`
  })
  return conditions.join(' and ')
}

/** A column of an attached table has another type than this process knows, so nothing may be recorded. */
export class ColumnsChanged extends Error {
  constructor() {
    super('The columns of an attached table have changed.')
  }
}

/** The columns of a mapping with their types, and the labels of enums, to notice when they change. */
export function columnsOf({ columns }: MappedTable): Readonly<Record<string, string>> {
  return columns
}

function describe({ column, name, isArray, spelled, labels }: FoundColumn): Readonly<Record<string, string>> {
  const type = `${name === 'numeric' ? spelled : name}${isArray && name !== 'numeric' ? '[]' : ''}`
  const labeled = Object.entries(labels ?? {}).map(([oid, label]) => [`label ${oid}`, label])
  return Object.fromEntries([[column, type], ...labeled])
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
async function checkReadable(
  db: Db,
  relation: string,
  columns: readonly string[],
  option: string,
): Promise<void> {
  try {
    const list = sql.join(columns.map((column) => sql.raw(identifier(column))))
    await sql`select ${list} from ${sql.raw(relation)} limit 0`.execute(db)
  } catch (error) {
    if (!isRefused(error)) throw error
    throw wrongOption(
      option,
      `names ${relation}, all of whose rows the role of the service must be able to read; grant it select, and if the table has policies, use its owner or a role with bypassrls.`,
    )
  }
}

/** Throws a ConfigurationError if a row cannot be asked for a condition. */
async function checkCondition(db: Db, relation: string, where: string, option: string): Promise<void> {
  try {
    await sql`select from ${sql.raw(relation)} as c where ${sql.raw(conditionOf(where))} limit 0`.execute(db)
  } catch (error) {
    if (!isOfSchema(error)) throw error
    throw wrongOption(option, `is no condition on ${relation}: ${toError(error).message}.`)
  }
}

/**
 * Throws a ConfigurationError if a condition depends on more than the row, so that it may become true or false without a
 * change of the row. PostgreSQL demands the same of an index.
 */
export async function checkImmutable(db: Db, { mapping, relation }: MappedTable): Promise<void> {
  const { where, type } = mapping
  if (where === undefined) return
  const undone = new Error('undone')
  const index = async (trx: Db) => {
    await sql`create temp table instep_condition (like ${sql.raw(relation)}) on commit drop`.execute(trx)
    await sql
      .raw(`create index on pg_temp.instep_condition ((true)) where ${conditionOf(where)}`)
      .execute(trx)
    throw undone
  }
  await db
    .transaction()
    .execute(index)
    .catch((error: unknown) => {
      if (error === undone || isDenied(error)) return
      const reason = `depends on more than the row: ${toError(error).message}.`
      throw ['42P17', '0A000'].includes(sqlStateOf(error))
        ? wrongOption(`tables.${type}.where`, reason)
        : error
    })
}

/** A condition of a mapping in SQL. It may end with a comment. */
export function conditionOf(where: string): string {
  return `(${where}\n)`
}

/** Follows domains to their base types. */
async function findColumns(db: Db, oid: number): Promise<readonly FoundColumn[]> {
  const { rows } = await sql<FoundColumn>`
    select a.attname as column, a.atttypid || ' ' || a.atttypmod as attribute, e.oid is not null as "isArray", format_type(b.oid, b.mod) as spelled,
      case when known.is_known then coalesce(e.typname, b.typname) else format_type(coalesce(e.oid, b.oid), null) end as name,
      format_type(coalesce(e.oid, b.oid), null) as cast, coalesce(e.typtype, b.typtype) = 'e' as "isEnum",
      (b.mod >= 4 and ((b.mod - 4) >> 16) & 65535 <= 15 and abs((((b.mod - 4) & 2047) # 1024) - 1024) <= 300) as "isDouble",
      (select json_object_agg(l.oid, l.enumlabel) from pg_enum l where l.enumtypid = coalesce(e.oid, b.oid)) as labels,
      (
        select array(
          select attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as u(attnum, n)
          join pg_attribute o on o.attrelid = i.indrelid and o.attnum = u.attnum order by n
        )
        from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indnkeyatts > 1
          and a.attnum = any((i.indkey::int2[])[0:i.indnkeyatts - 1]) order by i.indisprimary desc limit 1
      ) as "partOf",
      exists (
        select from pg_index i where i.indrelid = a.attrelid and i.indisunique and i.indisvalid and i.indimmediate
          and i.indnkeyatts = 1 and i.indkey[0] = a.attnum and i.indpred is null
      ) as "isKey", a.attnotnull as "isRequired",
      coalesce((select not collisdeterministic from pg_collation l where l.oid = a.attcollation), false) as "isLoose",
      a.attgenerated <> '' or a.attidentity = 'a' as "isGenerated"
    from pg_attribute a cross join lateral (
      with recursive base (oid, mod) as (
        select a.atttypid, a.atttypmod
        union all
        select t.typbasetype, t.typtypmod from base join pg_type t on t.oid = base.oid where t.typtype = 'd'
      )
      select t.*, base.mod from base join pg_type t on t.oid = base.oid where t.typtype <> 'd'
    ) b
    left join pg_type e on e.oid = b.typelem and b.typcategory = 'A'
    cross join lateral (
      -- A type of the application may have the name of one of PostgreSQL.
      select coalesce(e.typnamespace, b.typnamespace) = 'pg_catalog'::regnamespace
        or coalesce(e.typname, b.typname) = 'citext' or coalesce(e.typtype, b.typtype) = 'e' as is_known
    ) known
    where a.attrelid = ${oid}::int8::oid and a.attnum > 0 and not a.attisdropped`.execute(db)
  return rows
}

function checkKey(key: FoundColumn, { table, id }: TypeMapping, option: string): void {
  if (!key.isKey && key.partOf) {
    throw wrongOption(
      option,
      `names the column \`${id}\`, which is only a part of the key (${key.partOf.join(', ')}) of ${table}, and a record has one id; ${oneKey(table)}.`,
    )
  }
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
