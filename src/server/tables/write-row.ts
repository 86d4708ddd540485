import { type RawBuilder, sql } from 'kysely'
import type { JsonValue, Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from '../log/rejection.ts'
import type { Db } from '../log/sql/database.ts'
import { isKeyText } from './columns.ts'
import type { RecordState } from './compare.ts'
import type { MappedTable } from './inspect.ts'
import { identifier } from './quote.ts'
import { recordsIn } from './rows.ts'

/** An op on a row, and its place among the ops of the transaction. */
export interface RowOp {
  readonly op: TxOp
  readonly index: number
}

/** A record in a table: a row that belongs to nobody has no owner. */
export type Row = RecordState & { readonly id: string }

/** Reads the records of `ids`, in their order, and locks their rows if `lock` is true. */
export async function readRows(
  db: Db,
  table: MappedTable,
  ids: readonly string[],
  lock: boolean,
): Promise<ReadonlyMap<string, RecordState>> {
  const own = [...new Set(ids)].filter((id) => isKeyText(table.key, id))
  if (own.length === 0) return new Map()
  const column = identifier(table.mapping.id)
  const keys = `(select ids from instep_ids)::${table.key.cast}[]`
  const where = `c.${column} = any(${keys}) order by c.${column}`
  const { rows } = await sql<{ id: string; owner: string | null; p: Payload }>`
    with instep_ids as (select ${own}::text[] as ids) ${sql.raw(recordsIn(table, where, lock))}`.execute(db)
  return new Map(rows.map(({ id, owner, p }) => [id, { owner: owner ?? '', p }]))
}

/** Throws a WriteRejectedError unless the id of an op is the text of a value of the key column. */
export function checkKey({ key, mapping }: MappedTable, { op: { t, id }, index }: RowOp): void {
  if (isKeyText(key, id)) return
  throw new WriteRejectedError(
    'invalid',
    `The id ${id} of the ${t} is not a value of the column \`${mapping.id}\`.`,
    {
      op: index,
    },
  )
}

/**
 * Applies an op to its row. `exists`: whether there is a row. `p`: the fields of the record as the op makes it. Only
 * the fields of the op are set, so that values in other columns stay exactly as they are; `put` sets the rest to the
 * default of each column. Resolves with whether a row was written: a policy may hide it, and a trigger may leave it as
 * it is.
 */
export async function writeRow(
  db: Db,
  table: MappedTable,
  { op, index }: RowOp,
  { exists, p }: { readonly exists: boolean; readonly p: Payload },
): Promise<boolean> {
  const key = sql`${sql.raw(identifier(table.mapping.id))} = ${op.id}::text::${sql.raw(table.key.cast)}`
  const relation = sql.raw(table.relation)
  if (op.op === 'd') {
    const { rows } = await sql`delete from ${relation} where ${key} returning 1`.execute(db)
    return rows.length > 0
  }
  if (op.op === 'i' && !exists) {
    const values = valuesOf(table, p, op, index)
    const columns = [table.mapping.id, ...values.keys()].map((column) => sql.raw(identifier(column)))
    const id = sql`${op.id}::text::${sql.raw(table.key.cast)}`
    await sql`insert into ${relation} (${sql.join(columns)}) values (${sql.join([id, ...values.values()])})`.execute(
      db,
    )
    return true
  }
  const values = valuesOf(table, op.op === 'u' ? op.p : p, op, index)
  if (op.op === 'i') {
    for (const { column } of table.fields) if (!values.has(column)) values.set(column, sql`default`)
  }
  if (values.size === 0) return true
  const { rows } = await sql`update ${relation} set ${setOf(values)} where ${key} returning 1`.execute(db)
  return rows.length > 0
}

/**
 * Adds the row of a record that an op restores. `asCaller` runs a statement under the role of the caller: columns that
 * this role may not set are set without it, since their values are not the caller's. Columns that only the database sets
 * are left to it, except the key.
 */
export async function restoreRow(
  db: Db,
  table: MappedTable,
  { op, index }: RowOp,
  p: Payload,
  asCaller: <T>(run: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const { mapping, fields, key, isKeyGenerated } = table
  const settable = fields.filter(({ isGenerated }) => !isGenerated)
  const names = new Set([mapping.ownerField, ...settable.map(({ field }) => field)])
  const known = Object.fromEntries(Object.entries(p).filter(([field]) => names.has(field)))
  const values = valuesOf(table, known, op, index)
  const relation = sql.raw(table.relation)
  const id = sql`${op.id}::text::${sql.raw(key.cast)}`
  const others = await asCaller(async () => {
    const { rows } = await sql<{ column: string }>`
      select c as column from unnest(${[...values.keys()]}::text[]) as c
      where not has_column_privilege(${table.relation}::text, c, 'insert')`.execute(db)
    const denied = new Set(rows.map(({ column }) => column))
    const own = [...values].filter(([column]) => !denied.has(column))
    const columns = [mapping.id, ...own.map(([column]) => column)].map((column) =>
      sql.raw(identifier(column)),
    )
    await sql`insert into ${relation} (${sql.join(columns)}) ${isKeyGenerated ? sql`overriding system value` : sql``}
      values (${sql.join([id, ...own.map(([, value]) => value)])})`.execute(db)
    return [...values].filter(([column]) => denied.has(column))
  })
  if (others.length > 0)
    await sql`update ${relation} set ${setOf(others)} where ${sql.raw(identifier(mapping.id))} = ${id}`.execute(
      db,
    )
}

/** The assignments of an update. */
function setOf(values: Iterable<readonly [column: string, value: RawBuilder<unknown>]>): RawBuilder<unknown> {
  return sql.join([...values].map(([column, value]) => sql`${sql.raw(identifier(column))} = ${value}`))
}

type Values = Map<string, RawBuilder<unknown>>

/** The values of the columns that `p` sets. */
function valuesOf(table: MappedTable, p: Payload, { t, id }: TxOp, index: number): Values {
  const { mapping, owner, fields } = table
  const refuse = (what: string) => new WriteRejectedError('invalid', `The ${t} ${id} ${what}.`, { op: index })
  const values: Values = new Map()
  for (const [field, value] of Object.entries(p)) {
    if (field === mapping.ownerField) {
      const text = ownerValue(table, value)
      if (text === undefined) throw refuse(`has an owner in \`${field}\` that its column cannot hold`)
      values.set(mapping.owner.column, sql`${text}::text::${sql.raw(owner.cast)}`)
      continue
    }
    const known = fields.find((mapped) => mapped.field === field)
    if (!known) throw refuse(`has a field \`${field}\` that is not mapped to a column`)
    const text = known.conversion.textOf(value)
    if (text === undefined) throw refuse(`has a value in \`${field}\` that its column cannot hold`)
    values.set(known.column, text === null ? sql`null` : known.conversion.fromText(sql`${text}::text`))
  }
  return values
}

/** The text of the owner's column, or `undefined` if the column would show another owner. */
function ownerValue({ mapping, owner }: MappedTable, value: JsonValue): string | undefined {
  const { prefix } = mapping.owner
  if (typeof value !== 'string' || !value.startsWith(prefix)) return undefined
  const text = value.slice(prefix.length)
  return owner.isEnum || isKeyText(owner, text) ? text : undefined
}
