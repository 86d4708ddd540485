import { refuseUnknown } from '../base/check-options.ts'
import { ConfigurationError, wrongOption } from '../base/errors.ts'
import { isName } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import { asList, isOrderField } from './collated.ts'
import { fieldsOf, refuseUnknownField } from './fields.ts'
import type { Index, Model } from './model.ts'
import type { StandardSchema } from './standard-schema.ts'

/** The types of an application by name: a schema, or a schema with options. */
export interface ModelDefinitions {
  readonly [t: string]: Model | StandardSchema
}

/** The declared types, after checking. */
export interface Models<Definitions extends ModelDefinitions = ModelDefinitions> {
  /** The definitions as passed to {@link defineModels}, which {@link RecordOf} reads. */
  readonly definitions: Definitions
  readonly types: ReadonlyMap<string, DeclaredType>
  /** The version of the types. Stored data of a lower version is migrated. */
  readonly version: number
  readonly migrate: Migrations
}

export interface ModelsOptions {
  /**
   * The version of the types, an integer of at least 1. Increase it with each change of the types that makes stored
   * records or unsent writes invalid. @default 1
   */
  readonly version?: number | undefined
  /**
   * The migrations, by version. Each one migrates from the version before. A version without an entry changes nothing.
   */
  readonly migrate?: Migrations | undefined
}

/** The migrations, by version. Each one migrates from the version before. */
export interface Migrations {
  readonly [version: number]: Migration
}

/**
 * One migration step. If `row` throws or does not return a row, the data is fetched again. If `op` throws or does not
 * return an op, its transaction is kept in the outbox as rejected, with the reason `migration`. A transaction whose
 * response was lost is first sent in its older form, so that it is not carried out twice.
 */
export interface Migration {
  readonly row?: (row: WireRow) => WireRow | undefined
  /** Migrates an op of an unsent transaction, or of a stored change. */
  readonly op?: (op: TxOp) => TxOp | undefined
}

export interface DeclaredType {
  readonly schema: StandardSchema
  readonly indexes: readonly Index[]
  readonly load: 'eager' | 'lazy'
  /** The fields of a record; `undefined` if the schema does not list them, or allows others. */
  readonly fields: ReadonlySet<string> | undefined
}

/**
 * Declares the types that an application syncs. Returns the checked models; models that are already checked are
 * returned as they are. Throws a ConfigurationError that names the wrong option, such as `models.Issue.indexes`.
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
  if (!isObject(declared)) throw wrongOption('models', 'must be an object of schemas.')
  if (isModels<Definitions>(declared)) return declared
  const types = new Map(Object.entries(declared).map(([t, definition]) => [t, readType(t, definition)]))
  const { version = 1, migrate = {} } = options
  refuseUnknown(options, { version, migrate }, 'models.')
  if (!Number.isSafeInteger(version) || version < 1) {
    throw wrongOption('models.version', 'must be an integer of at least 1.')
  }
  if (!isObject(migrate) || !Object.entries(migrate).every((step) => isStepTo(version, step))) {
    throw wrongOption(
      'models.migrate',
      'must map versions, from 2 to `version`, to { row?, op? }, both functions.',
    )
  }
  return { definitions: declared, types, version, migrate }
}

/** The names of the lazy types. */
export function lazyTypes({ types }: Models): readonly string[] {
  return [...types].flatMap(([t, { load }]) => (load === 'lazy' ? t : []))
}

/** Whether `step` is a valid migration to a version up to `version`. A migration to a later version would never run. */
function isStepTo(version: number, [to, step]: readonly [string, unknown]): boolean {
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
  if (isSchema(definition))
    return { schema: definition, indexes: [], load: 'eager', fields: fieldsOf(definition) }
  const { schema, options = {} }: { schema?: unknown; options?: unknown } = isObject(definition)
    ? definition
    : {}
  if (!isSchema(schema) || !isObject(options)) {
    throw wrongOption(option, 'must be a Standard Schema or a `model(schema)`.')
  }
  const { indexes = [], load = 'eager' } = options
  refuseUnknown(options, { indexes, load }, `${option}.`)
  if (load !== 'eager' && load !== 'lazy') {
    throw wrongOption(`${option}.load`, "must be 'eager' or 'lazy'.")
  }
  const fields = fieldsOf(schema)
  const read = readIndexes(`${option}.indexes`, indexes)
  for (const field of read.flat()) refuseUnknownField(fields, `${field}`, `${option}.indexes`)
  return { schema, indexes: read, load, fields }
}

function isSchema(value: unknown): value is StandardSchema {
  // The schemas of some libraries are functions.
  if (typeof value !== 'function' && !isObject(value)) return false
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined
  const { validate }: { validate?: unknown } = isObject(standard) ? standard : {}
  return typeof validate === 'function'
}

function readIndexes(option: string, indexes: unknown): readonly Index[] {
  const read: unknown[] = Array.isArray(indexes) ? indexes.map(asList) : [undefined]
  if (read.every(isIndex)) return read
  throw wrongOption(option, 'must be a list of fields, or of lists of different fields.')
}

function isIndex(fields: unknown): fields is Index {
  return (
    Array.isArray(fields) &&
    fields.length > 0 &&
    fields.every((field) => isOrderField(field) && field !== '__proto__') &&
    new Set(fields).size === fields.length
  )
}
