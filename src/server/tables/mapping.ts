import { checkOptions } from '../../base/check-options.ts'
import { wrongOption } from '../../base/errors.ts'
import { isObject } from '../../protocol/json.ts'
import { isStorableName } from '../../protocol/json-copy.ts'
import { sha256 } from '../sha256.ts'

/** The tables of the application that hold the records of types, by type. */
export type TableMappings = Readonly<Record<string, TableMapping>>

/** How the rows of a table become the records of a type. */
export interface TableMapping {
  /**
   * The name of the table, as in `issues` or `app.issues`. It is used exactly as written: upper and lower case differ.
   */
  readonly table: string
  /** The column with the id of a record: the only column of a primary key or of a unique constraint. */
  readonly id: string
  /** The column that names the owner. A row whose owner is null belongs to nobody and is not synced. */
  readonly owner: string | OwnerColumn
  /**
   * A condition in SQL on the columns of a row, as in `deleted_at is null`. A row that does not meet it is no record: for
   * clients it is gone, and comes back when it meets the condition again. @default every row is a record
   */
  readonly where?: string
  /** The columns that become fields. A column without a name of its own for the field has the same name. */
  readonly fields: readonly (string | Readonly<Record<string, string | FieldColumn>>)[]
}

export interface OwnerColumn {
  readonly column: string
  /**
   * Comes before the value of the column, as in `team:`, so that owners of different tables never have the same name.
   */
  readonly prefix?: string
}

export interface FieldColumn {
  readonly column: string
  /**
   * `'number'`: the values of an `int8` or `numeric` column are numbers. An `int8` beyond 2^53 is then `null` for
   * clients, and a client cannot write one. A `numeric` needs a precision of at most 15 digits. @default text
   */
  readonly as?: 'number'
}

/** A mapping after checking, in a normalized form. */
export interface TypeMapping {
  readonly type: string
  readonly table: string
  readonly id: string
  readonly owner: Required<OwnerColumn>
  /** The field that names the owner. */
  readonly ownerField: string
  readonly fields: readonly MappedField[]
  readonly where?: string
}

export interface MappedField {
  readonly field: string
  readonly column: string
  readonly asNumber: boolean
}

const isName = (value: unknown): value is string => isStorableName(value)

const mappingChecks = {
  table: [isName, 'the name of a table'],
  id: [isName, 'the name of a column'],
  owner: [(value: unknown) => isName(value) || isObject(value), 'the name of a column'],
  fields: [Array.isArray, 'a list of columns'],
} as const

const conditionCheck = [
  (value: unknown) => typeof value === 'string' && value.trim() !== '',
  'a condition in SQL like `deleted_at is null`',
] as const

/** What to do with a table whose key has several columns. */
export function oneKey(table: string): string {
  return `add a column that is a key alone, as by \`alter table ${table} add id uuid not null default gen_random_uuid() unique\``
}

const ownerChecks = {
  column: [isName, 'the name of a column'],
  prefix: [(value: unknown) => value === '' || isName(value), 'a text like `team:`'],
} as const

const fieldChecks = {
  column: [isName, 'the name of a column'],
  as: [(value: unknown) => value === 'number', "'number'"],
} as const

/**
 * Returns the mappings in a normalized form, in the order of the types. Throws a ConfigurationError that names the
 * first fault.
 */
export function readMappings(tables: TableMappings, ownerField: string): readonly TypeMapping[] {
  if (!isObject(tables)) throw wrongOption('tables', 'must be an object with a mapping for each type.')
  const mappings = Object.entries(tables).map(([type, mapping]) => readMapping(type, mapping, ownerField))
  const types = new Map<string, string>()
  for (const { type, table } of mappings) {
    const other = types.get(table)
    if (other !== undefined)
      throw wrongOption(
        `tables.${type}`,
        `names the table of the type ${other}; a table can have only one type.`,
      )
    types.set(table, type)
  }
  return mappings.sort((a, b) => (a.type < b.type ? -1 : 1))
}

function readMapping(type: string, mapping: TableMapping, ownerField: string): TypeMapping {
  const at = `tables.${type}`
  if (!isName(type)) throw wrongOption(at, 'has a type whose name cannot be stored; choose another name.')
  if (!isObject(mapping)) throw wrongOption(at, 'must be a mapping with `table`, `id`, `owner` and `fields`.')
  const { where } = mapping
  const key: unknown = mapping.id
  if (Array.isArray(key)) {
    throw wrongOption(`${at}.id`, `names several columns, and a record has one id; ${oneKey(mapping.table)}.`)
  }
  checkOptions(mapping, { ...mappingChecks, ...(where !== undefined && { where: conditionCheck }) }, `${at}.`)
  for (const option of Object.keys(mappingChecks)) {
    if (!Object.hasOwn(mapping, option)) throw wrongOption(`${at}.${option}`, 'is missing.')
  }
  const { table, id, owner } = mapping
  const fields = mapping.fields.flatMap((field) => readFields(field, `${at}.fields`))
  refuseTwice(fields, id, ownerField, at)
  return {
    type,
    table,
    id,
    owner: readOwner(owner, `${at}.owner`),
    ownerField,
    fields,
    ...(where !== undefined && { where }),
  }
}

function readOwner(owner: string | OwnerColumn, at: string): Required<OwnerColumn> {
  if (typeof owner === 'string') return { column: owner, prefix: '' }
  checkOptions(owner, ownerChecks, `${at}.`)
  if (!isName(owner.column)) throw wrongOption(`${at}.column`, 'must be the name of a column.')
  return { column: owner.column, prefix: owner.prefix ?? '' }
}

function readFields(field: TableMapping['fields'][number], at: string): readonly MappedField[] {
  if (isName(field)) return [{ field, column: field, asNumber: false }]
  if (!isObject(field))
    throw wrongOption(at, 'must be a list of names of columns, or of objects like `{ field: column }`.')
  return Object.entries(field).map(([name, column]) => {
    if (!isName(name)) throw wrongOption(at, 'has a field whose name cannot be stored; choose another name.')
    if (isName(column)) return { field: name, column, asNumber: false }
    if (!isObject(column)) {
      throw wrongOption(`${at}.${name}`, 'must be the name of a column, or an object like `{ column, as }`.')
    }
    checkOptions(column, fieldChecks, `${at}.${name}.`)
    if (!isName(column.column)) throw wrongOption(`${at}.${name}.column`, 'must be the name of a column.')
    return { field: name, column: column.column, asNumber: column.as === 'number' }
  })
}

/** Refuses names that a client could not tell apart, and columns that two fields of an op could set. */
function refuseTwice(fields: readonly MappedField[], id: string, ownerField: string, at: string): void {
  const [names, columns] = [new Set(['id', ownerField]), new Set([id])]
  for (const { field, column } of fields) {
    if (names.has(field)) {
      const reason =
        field === 'id' || field === ownerField ? 'is set by the mapping itself' : 'is there twice'
      throw wrongOption(`${at}.fields`, `must not hold the field \`${field}\`: it ${reason}.`)
    }
    if (columns.has(column))
      throw wrongOption(`${at}.fields`, `must not hold the column \`${column}\` twice.`)
    names.add(field)
    columns.add(column)
  }
}

/** Returns a digest, which is the same for equal mappings. */
export function digestOf(mapping: Omit<TypeMapping, 'type'> | readonly TypeMapping[]): string {
  return sha256(JSON.stringify(mapping)).slice(0, 22)
}
