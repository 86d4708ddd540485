import { wrongOption } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import type { StandardSchema } from './standard-schema.ts'

/**
 * The field names of an object schema of zod. `undefined` for a schema that does not list its fields, or that says what
 * other fields may be.
 */
export function fieldsOf(schema: StandardSchema): ReadonlySet<string> | undefined {
  const shape: unknown = 'shape' in schema ? schema.shape : undefined
  const isOpen = 'def' in schema && isObject(schema.def) && schema.def.catchall !== undefined
  return isObject(shape) && !isOpen ? new Set(['id', ...Object.keys(shape)]) : undefined
}

/** Throws a ConfigurationError that names `option` if `field` is not in `fields`. */
export function refuseUnknownField(
  fields: ReadonlySet<string> | undefined,
  field: string,
  option: string,
): void {
  if (!fields || fields.has(field)) return
  throw wrongOption(option, `names the field \`${field}\`, which the schema does not have.`)
}
