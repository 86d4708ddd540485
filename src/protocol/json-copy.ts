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
    const place = new Place()
    const payload = Object.fromEntries(
      defined.map(([name, value]) => [place.enter(0, checkedName(name, 0, place)), copy(value, 1, place)]),
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

/** The place of the value that is being copied, and the number of values so far. One for a whole payload. */
class Place {
  values = 0
  /** Only the names above the current depth are of this place. A copy for each value would cost far more. */
  readonly #names: (string | number)[] = []

  /** Notes that the value at `depth` has `name`. Returns the name. */
  enter<Name extends string | number>(depth: number, name: Name): Name {
    this.#names[depth] = name
    return name
  }

  /** The names down to `depth`. */
  path(depth: number): string[] {
    return this.#names.slice(0, depth).map(String)
  }
}

class NotJson extends Error {
  readonly path: readonly string[]

  constructor(path: readonly string[], what: string) {
    super(what)
    this.path = path
  }
}

/** `depth`: the number of names in the path to `value`. */
function copy(value: unknown, depth: number, place: Place): JsonValue {
  place.values += 1
  if (place.values > maxValues) throw new NotJson(place.path(1), `holds more than ${maxValues} values`)
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      if (!isStorable(value)) throw new NotJson(place.path(depth), 'holds a NUL or half of a surrogate pair')
      return value
    case 'number':
      if (!Number.isFinite(value))
        throw new NotJson(place.path(depth), `is ${value}, which JSON cannot carry`)
      // Turns -0, which JSON does not have, into 0.
      return value + 0
    case 'object':
      return value === null ? null : copyObject(value, depth, place)
    default:
      throw new NotJson(place.path(depth), `is of type ${typeof value}, which JSON cannot carry`)
  }
}

function copyObject(value: object, depth: number, place: Place): JsonValue {
  // The row and its payload are two levels above the fields.
  if (depth > maxDepth - 2) throw new NotJson(place.path(1), `nests deeper than ${maxDepth} levels`)
  if (Array.isArray(value)) {
    const items: JsonValue[] = []
    // An index also visits holes, which JSON would turn into `null`.
    for (let index = 0; index < value.length; index += 1) {
      place.enter(depth, index)
      items.push(copy(value[index], depth + 1, place))
    }
    return items
  }
  if (!isPlain(value) || 'toJSON' in value) {
    const name = value.constructor?.name ?? 'class'
    throw new NotJson(
      place.path(depth),
      `is a ${name}, which JSON would change; use plain values, and numbers for times`,
    )
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      place.enter(depth, checkedName(name, depth, place)),
      copy(item, depth + 1, place),
    ]),
  )
}

function checkedName(name: string, depth: number, place: Place): string {
  if (name !== '__proto__' && isStorable(name)) return name
  // Escaped, so that a result which quotes the name can be stored.
  throw new NotJson([...place.path(depth), JSON.stringify(name).slice(1, -1)], 'is not a valid name')
}
