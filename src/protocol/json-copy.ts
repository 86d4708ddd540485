import { isName } from './guards.ts'
import { isObject, isPlain, type JsonValue, maxDepth, type Payload } from './json.ts'

/** The first place in a value that is not JSON. */
export interface JsonFault {
  /** The path to the place, for example `labels.0`; empty if it is the whole value. */
  readonly path: string
  readonly what: string
}

/**
 * Returns a copy of `fields` as JSON, or the first value that JSON would change, for example a Date or a NaN. Leaves
 * out fields that are `undefined`. Deeper down, refuses `undefined`: JSON would turn it into `null` in an array.
 */
export function copyPayload(fields: unknown): { readonly payload: Payload } | { readonly fault: JsonFault } {
  if (!isObject(fields) || !isPlain(fields))
    return { fault: { path: '', what: 'is not a plain object of fields' } }
  try {
    const defined = Object.entries(fields).filter(([, value]) => value !== undefined)
    const count = { values: 0 }
    const payload = Object.fromEntries(
      defined.map(([name, value]) => [checkedName(name, []), copy(value, [name], count)]),
    )
    return { payload }
  } catch (thrown) {
    if (thrown instanceof NotJson) return { fault: { path: thrown.path.join('.'), what: thrown.message } }
    throw thrown
  }
}

/** Whether every engine and database can store `text`. Some cannot store NUL or halves of surrogate pairs. */
export function isStorable(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text)
}

/**
 * The maximum length of a type, an id or an owner, in UTF-16 code units. All three fit into one entry of a PostgreSQL
 * index.
 */
export const maxNameLength = 255

/** Whether `name` can be the type or id of a new record, so that every database can store it. */
export function isStorableName(name: unknown): name is string {
  return isName(name) && name.length <= maxNameLength && isStorable(name)
}

/**
 * The maximum number of values in a payload. A shared object counts each time it occurs, since JSON repeats it. A
 * larger payload would exceed 1 MB, and services refuse it.
 */
const maxValues = 500_000

/** The number of values of a payload so far. */
interface Count {
  values: number
}

class NotJson extends Error {
  readonly path: readonly string[]

  constructor(path: readonly string[], what: string) {
    super(what)
    this.path = path
  }
}

function copy(value: unknown, path: readonly string[], count: Count): JsonValue {
  count.values += 1
  if (count.values > maxValues) throw new NotJson(path.slice(0, 1), `holds more than ${maxValues} values`)
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      if (!isStorable(value)) throw new NotJson(path, 'holds a NUL or half of a surrogate pair')
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(path, `is ${value}, which JSON cannot carry`)
      // Turns -0, which JSON does not have, into 0.
      return value + 0
    case 'object':
      return value === null ? null : copyObject(value, path, count)
    default:
      throw new NotJson(path, `is of type ${typeof value}, which JSON cannot carry`)
  }
}

function copyObject(value: object, path: readonly string[], count: Count): JsonValue {
  // The row and its payload are two levels above the fields.
  if (path.length > maxDepth - 2) throw new NotJson(path.slice(0, 1), `nests deeper than ${maxDepth} levels`)
  if (Array.isArray(value))
    return Array.from(value, (item, index) => copy(item, [...path, String(index)], count))
  if (!isPlain(value) || 'toJSON' in value) {
    const name = value.constructor?.name ?? 'class'
    throw new NotJson(path, `is a ${name}, which JSON would change; use plain values, and numbers for times`)
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      checkedName(name, path),
      copy(item, [...path, name], count),
    ]),
  )
}

function checkedName(name: string, path: readonly string[]): string {
  if (name !== '__proto__' && isStorable(name)) return name
  // Escaped, so that a result which quotes the name can be stored.
  throw new NotJson([...path, JSON.stringify(name).slice(1, -1)], 'is not a valid name')
}
