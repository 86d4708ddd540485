/** A value that JSON does not change. Times are numbers, in ms since the epoch. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** The fields of a record. Immutable and shared: to change one, make a new object. */
export type Payload = { readonly [field: string]: JsonValue }

export const noFields: Payload = {}

/**
 * The maximum depth of a row or frame, itself counted. Beyond that, engines differ: `structuredClone` and
 * `JSON.stringify` overflow the stack although `JSON.parse` succeeds.
 */
export const maxDepth = 500

/** Whether `value` is an object that is neither `null` nor an array. */
export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether `value`, which is not an array, is an object as `JSON.parse` makes it, in any realm: no Date and no Map. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Parses `text`; returns `undefined` if it is not a string or not JSON. */
export function readJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether `value` nests more than `levels` arrays and objects. Looks no deeper than that. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item))
  if (!isObject(value)) return false
  for (const name in value) {
    const child = value[name]
    // Most values do not nest: save the call.
    if (typeof child === 'object' && child !== null && isDeeperThan(levels - 1, child)) return true
  }
  return false
}

/** Whether two JSON values are equal. The order of keys does not count. */
export function jsonEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => jsonEqual(item, b[index]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && jsonEqual(a[name], b[name]))
  )
}
