import { isName } from './guards.ts'
import { isObject, isPlain, type JsonValue, maxDepth, type Payload } from './json.ts'

/** What about a value is no JSON. */
export interface JsonFault {
  /** From the field to the place: `labels.0`; empty where it is the whole. */
  readonly path: string
  readonly what: string
}

/**
 * A copy of `fields` as JSON carries them, or the first value that JSON would change, a Date or a NaN for example. A
 * field that is `undefined` is left out; deeper down `undefined` is refused, since JSON would make `null` of some.
 */
export function copyPayload(fields: unknown): { readonly payload: Payload } | { readonly fault: JsonFault } {
  if (!isObject(fields) || !isPlain(fields))
    return { fault: { path: '', what: 'is not a plain object of fields' } }
  try {
    const given = Object.entries(fields).filter(([, value]) => value !== undefined)
    const count = { values: 0 }
    const payload = Object.fromEntries(
      given.map(([name, value]) => [named(name, []), copy(value, [name], count)]),
    )
    return { payload }
  } catch (thrown) {
    if (thrown instanceof Fault) return { fault: { path: thrown.path.join('.'), what: thrown.message } }
    throw thrown
  }
}

/** Whether every engine and database can hold `text`: NUL and halves of surrogate pairs some cannot. */
export function isStorable(text: string): boolean {
  return !/[\0\p{Surrogate}]/u.test(text)
}

/** The longest type, id and owner, in UTF-16 code units: together they fit into one entry of a PostgreSQL index. */
export const maxNameLength = 255

/** Whether `name` can be written as a type or an id: every database can hold it. */
export function isStorableName(name: unknown): name is string {
  return isName(name) && name.length <= maxNameLength && isStorable(name)
}

/**
 * So many values may be in one payload: what is shared inside it is written out each time that it is met. No service
 * takes as many: they are a body of more than 1 MB.
 */
const maxValues = 500_000

/** Counts the values of one payload. */
interface Count {
  values: number
}

class Fault extends Error {
  readonly path: readonly string[]

  constructor(path: readonly string[], what: string) {
    super(what)
    this.path = path
  }
}

function copy(value: unknown, path: readonly string[], count: Count): JsonValue {
  count.values += 1
  if (count.values > maxValues) throw new Fault(path.slice(0, 1), `holds more than ${maxValues} values`)
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      if (!isStorable(value)) throw new Fault(path, 'holds a NUL or half of a surrogate pair')
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Fault(path, `is ${value}, which JSON cannot carry`)
      // JSON has no -0.
      return value + 0
    case 'object':
      return value === null ? null : copyObject(value, path, count)
    default:
      throw new Fault(path, `is of type ${typeof value}, which JSON cannot carry`)
  }
}

function copyObject(value: object, path: readonly string[], count: Count): JsonValue {
  // The row and its payload are two levels above the fields.
  if (path.length > maxDepth - 2) throw new Fault(path.slice(0, 1), `nests deeper than ${maxDepth} levels`)
  if (Array.isArray(value))
    return Array.from(value, (item, index) => copy(item, [...path, String(index)], count))
  if (!isPlain(value) || 'toJSON' in value) {
    const name = value.constructor?.name ?? 'class'
    throw new Fault(path, `is a ${name}, which JSON would change; give plain values, and times as numbers`)
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [named(name, path), copy(item, [...path, name], count)]),
  )
}

function named(name: string, path: readonly string[]): string {
  if (name !== '__proto__' && isStorable(name)) return name
  // Escaped, so that a verdict that tells of it can be stored.
  throw new Fault([...path, JSON.stringify(name).slice(1, -1)], 'is no name for a field')
}
