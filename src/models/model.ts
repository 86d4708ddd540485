import type { OrderField } from './collated.ts'
import type { InputOf, StandardSchema } from './standard-schema.ts'

/**
 * The fields that an index orders by: by the first field, then by the next. Records that are equal in all fields are
 * ordered by `id`.
 */
export type Index<Field extends string = string> = readonly [OrderField<Field>, ...OrderField<Field>[]]

export interface ModelOptions<Field extends string = string> {
  /**
   * The indexes of the type: each is a field, or a list of fields. A query is served by an index if it requires the
   * first fields to be equal, and then bounds or orders by the next field. Its cost depends on the size of the result,
   * not on the number of records.
   *
   * @default []
   */
  readonly indexes?: readonly (OrderField<Field> | Index<Field>)[] | undefined
  /** `lazy`: the records may stay on disk until the type is first used. @default 'eager' */
  readonly load?: 'eager' | 'lazy' | undefined
}

/** The schema of a type, with options for its records. */
export interface Model<Schema extends StandardSchema = StandardSchema> {
  readonly schema: Schema
  readonly options: ModelOptions
}

/**
 * Declares one type with options, for {@link defineModels}. The schema describes the payload of a record as it is on
 * the wire, and checks it without changing it: records have the type of the schema's input. So a brand of the output,
 * such as zod's `.brand()`, is not in their type. A schema that returns a promise, for example one with an asynchronous
 * refinement, cannot be used: writes of its type throw a ConfigurationError, arriving records are not checked, and
 * `error` says so once.
 *
 * @example model(issueSchema, { indexes: ['projectId', ['status', 'createdAt']] })
 */
export function model<Schema extends StandardSchema>(
  schema: Schema,
  options: ModelOptions<FieldOf<InputOf<Schema>>> = {},
): Model<Schema> {
  return { schema, options }
}

/** The field names of a record, including `id`; any string if the schema does not declare its input. */
export type FieldOf<Input> = Input extends object ? (keyof Input & string) | 'id' : string
