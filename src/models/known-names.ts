import { wrongOption } from '../base/errors.ts'
import { isObject } from '../protocol/json.ts'
import { asList } from './collated.ts'
import { refuseUnknownField } from './fields.ts'
import type { Models } from './models.ts'

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
