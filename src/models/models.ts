import { refuseUnknown } from '../base/check-options.ts'
import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { isName } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Index, Model } from './model.ts'
import type { StandardSchema } from './standard-schema.ts'

/** The types of an application by name: a schema each, or a schema with options. */
export interface ModelDefinitions {
  readonly [t: string]: Model | StandardSchema
}

/** Declared types, checked. */
export interface Models<Definitions extends ModelDefinitions = ModelDefinitions> {
  /** As they were declared; it is what {@link RecordOf} reads. */
  readonly definitions: Definitions
  readonly types: ReadonlyMap<string, DeclaredType>
  /** Which shape of the types this is; stored data of a lower one is migrated. */
  readonly version: number
  readonly migrate: Migrations
}

export interface ModelsOptions {
  /** A whole number of 1 or more, raised with each change that stored data has to follow. @default 1 */
  readonly version?: number | undefined
  /** By version: what leads to it from the one before. A version without an entry leaves all as it is. */
  readonly migrate?: Migrations | undefined
}

/** By version: what leads to it from the one before. */
export interface Migrations {
  readonly [version: number]: Migration
}

/** Where one throws, or gives no row or no op: a row has the data fetched again; the transaction of an op is parked. */
export interface Migration {
  readonly row?: (row: WireRow) => WireRow | undefined
  /** Of a transaction that waits to be sent, or of a stored change. */
  readonly op?: (op: TxOp) => TxOp | undefined
}

export interface DeclaredType {
  readonly schema: StandardSchema
  readonly indexes: readonly Index[]
  readonly load: 'eager' | 'lazy'
}

/**
 * Declares the types that an application syncs. What it gives, it also takes. Throws a ConfigurationError that names
 * the option that is wrong, as in `models.Issue.indexes`.
 *
 * @example
 * const models = defineModels({
 *   Issue: model(issueSchema, { indexes: ['projectId'] }),
 *   Project: projectSchema,
 * })
 * @example
 * defineModels({ Issue: issueSchema }, { version: 2, migrate: { 2: { row: withPriority, op: withPriority } } })
 */
export function defineModels<const Definitions extends ModelDefinitions>(
  declared: Definitions | Models<Definitions>,
  options: ModelsOptions = {},
): Models<Definitions> {
  if (!isObject(declared)) throw wrongOption('models', 'is not an object of schemas.')
  if (isModels<Definitions>(declared)) return declared
  const types = new Map(Object.entries(declared).map(([t, definition]) => [t, readType(t, definition)]))
  const { version = 1, migrate = {} } = options
  refuseUnknown(options, { version, migrate }, 'models.')
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new ConfigurationError('models.version', '`version` is not a whole number of 1 or more.')
  }
  if (!isObject(migrate) || !Object.entries(migrate).every((step) => leadsTo(version, step))) {
    const message =
      '`migrate` holds something else than { row?, op? }, functions, by version from 2 to `version`.'
    throw new ConfigurationError('models.migrate', message)
  }
  return { definitions: declared, types, version, migrate }
}

/** The names of the types that may stay on disk until they are first used. */
export function lazyTypes({ types }: Models): readonly string[] {
  return [...types].flatMap(([t, { load }]) => (load === 'lazy' ? t : []))
}

/** Whether it is a step on the way to `version`; one beyond it would never be taken. */
function leadsTo(version: number, [to, step]: readonly [string, unknown]): boolean {
  const isFunction = (value: unknown) => value === undefined || typeof value === 'function'
  const isOnTheWay = Number(to) > 1 && Number(to) <= version
  return isOnTheWay && isObject(step) && isFunction(step.row) && isFunction(step.op)
}

function isModels<Definitions extends ModelDefinitions>(value: object): value is Models<Definitions> {
  return 'types' in value && value.types instanceof Map
}

function readType(t: string, definition: unknown): DeclaredType {
  const option = `models.${t}`
  if (!isName(t)) throw new ConfigurationError(option, `A type cannot be called \`${t}\`.`)
  if (isSchema(definition)) return { schema: definition, indexes: [], load: 'eager' }
  const { schema, options = {} }: { schema?: unknown; options?: unknown } = isObject(definition)
    ? definition
    : {}
  if (!isSchema(schema) || !isObject(options)) {
    throw wrongOption(option, 'is neither a Standard Schema nor a `model(schema)`.')
  }
  const { indexes = [], load = 'eager' } = options
  refuseUnknown(options, { indexes, load }, `${option}.`)
  if (load !== 'eager' && load !== 'lazy') {
    throw wrongOption(`${option}.load`, "is neither 'eager' nor 'lazy'.")
  }
  return { schema, indexes: readIndexes(`${option}.indexes`, indexes), load }
}

function isSchema(value: unknown): value is StandardSchema {
  // Some libraries make their schemas functions.
  if (typeof value !== 'function' && !isObject(value)) return false
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined
  const { validate }: { validate?: unknown } = isObject(standard) ? standard : {}
  return typeof validate === 'function'
}

function readIndexes(option: string, indexes: unknown): readonly Index[] {
  const read: unknown[] = Array.isArray(indexes) ? indexes.map(asList) : [undefined]
  if (read.every(isIndex)) return read
  throw wrongOption(option, 'is not a list whose items are each a field, or a list of different fields.')
}

function asList(index: unknown): unknown {
  return typeof index === 'string' ? [index] : index
}

function isIndex(fields: unknown): fields is Index {
  return (
    Array.isArray(fields) &&
    fields.length > 0 &&
    fields.every(isName) &&
    new Set(fields).size === fields.length
  )
}
