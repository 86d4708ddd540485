import type { InputOf, StandardSchema } from './standard-schema.ts'

/** The fields by which an index orders, in turn; behind them it goes by `id`. */
export type Index<Field extends string = string> = readonly [Field, ...Field[]]

export interface ModelOptions<Field extends string = string> {
  /**
   * What queries look for: a field, or several in turn. A query that holds the first ones equal, and then bounds or
   * orders by the next, costs by its result and not by the number of records.
   *
   * @default []
   */
  readonly indexes?: readonly (Field | Index<Field>)[] | undefined
  /** `lazy`: the records may stay on disk until the type is first used. @default 'eager' */
  readonly load?: 'eager' | 'lazy' | undefined
}

/** A type's schema, and how its records are kept. */
export interface Model<Schema extends StandardSchema = StandardSchema> {
  readonly schema: Schema
  readonly options: ModelOptions
}

/**
 * A type for {@link defineModels}, with options. The schema describes a record's payload as it is on the wire.
 *
 * @example model(issueSchema, { indexes: ['projectId', ['status', 'createdAt']] })
 */
export function model<Schema extends StandardSchema>(
  schema: Schema,
  options: ModelOptions<FieldOf<InputOf<Schema>>> = {},
): Model<Schema> {
  return { schema, options }
}

/** The names of the fields that a record has, `id` among them; any name where the schema does not say. */
export type FieldOf<Input> = Input extends object ? (keyof Input & string) | 'id' : string
