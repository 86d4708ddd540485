/** A `bigint` of PostgreSQL, as drivers return it. */
export type Int8 = string | number | bigint

/** Converts a `bigint` to a number. Throws if the number would not be exact. */
export function toNumber(value: Int8): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new Error(`The database returned ${value} for a sid, which is not an integer below 2^53.`)
}
