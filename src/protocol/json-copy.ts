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
    return { payload: new PayloadCopy().entries(defined) }
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

class NotJson extends Error {
  readonly path: readonly string[]

  constructor(path: readonly (string | number)[], what: string) {
    super(what)
    this.path = path.map(String)
  }
}

/** The copy of a whole payload. */
class PayloadCopy {
  /** The path to the value that is being copied. A list of its own for each value would cost far more. */
  readonly #path: (string | number)[] = []
  #values = 0

  entries(entries: readonly (readonly [string, unknown])[]): Payload {
    return Object.fromEntries(
      entries.map(([name, item]) => [this.#checkedName(name), this.#copyAt(name, item)]),
    )
  }

  #copyAt(name: string | number, value: unknown): JsonValue {
    this.#path.push(name)
    const copied = this.#copy(value)
    this.#path.pop()
    return copied
  }

  #copy(value: unknown): JsonValue {
    this.#values += 1
    if (this.#values > maxValues) throw this.#fault(`holds more than ${maxValues} values`, 1)
    switch (typeof value) {
      case 'boolean':
        return value
      case 'string':
        if (!isStorable(value)) throw this.#fault('holds a NUL or half of a surrogate pair')
        return value
      case 'number':
        if (!Number.isFinite(value)) throw this.#fault(`is ${value}, which JSON cannot carry`)
        // Turns -0, which JSON does not have, into 0.
        return value + 0
      case 'object':
        return value === null ? null : this.#copyObject(value)
      default:
        throw this.#fault(`is of type ${typeof value}, which JSON cannot carry`)
    }
  }

  #copyObject(value: object): JsonValue {
    // The row and its payload are two levels above the fields.
    if (this.#path.length > maxDepth - 2) throw this.#fault(`nests deeper than ${maxDepth} levels`, 1)
    if (Array.isArray(value)) {
      const items: JsonValue[] = []
      // An index also visits holes, which JSON would turn into `null`.
      for (let index = 0; index < value.length; index += 1) items.push(this.#copyAt(index, value[index]))
      return items
    }
    if (isPlain(value) && !('toJSON' in value)) return this.entries(Object.entries(value))
    const name = value.constructor?.name ?? 'class'
    throw this.#fault(`is a ${name}, which JSON would change; use plain values, and numbers for times`)
  }

  #checkedName(name: string): string {
    if (name !== '__proto__' && isStorable(name)) return name
    // Escape the name: it has characters that cannot be stored, and the rejection that quotes it is stored.
    throw new NotJson([...this.#path, JSON.stringify(name).slice(1, -1)], 'is not a valid name')
  }

  /** `names`: the number of names of the path that the error contains; by default all. */
  #fault(what: string, names?: number): NotJson {
    return new NotJson(this.#path.slice(0, names), what)
  }
}
