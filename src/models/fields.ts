import { wrongOption } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import { asList } from './collated.ts'
import type { Models } from './models.ts'
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

/**
 * Throws a ConfigurationError if models are declared and a query of the type `t` names another type, or a field that the
 * schema does not have. The type checker finds such a mistake; a program in plain JavaScript does not.
 */
export function refuseUnknownNames(
  models: Models,
  t: string,
  spec: { readonly where?: unknown; readonly orderBy?: unknown },
): void {
  const { types } = models
  if (types.size === 0) return
  const declared = types.get(t)
  if (!declared) {
    throw wrongOption('type', `must be one of ${[...types.keys()].join(', ')}, and not \`${t}\`.`)
  }
  const { fields } = declared
  const readWhere = (where: unknown) => {
    for (const [name, value] of Object.entries(isObject(where) ? where : {})) {
      if (value === undefined) continue
      if (name === 'and' || name === 'or' || name === 'not') asList(value).forEach(readWhere)
      else refuseUnknownField(fields, name, 'where')
    }
  }
  readWhere(spec.where)
  for (const term of asList(spec.orderBy ?? [])) refuseUnknownField(fields, `${asList(term)[0]}`, 'orderBy')
}
