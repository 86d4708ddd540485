/** A `bigint` of PostgreSQL as the drivers give it. */
export type Int8 = string | number | bigint

/** The one place where it becomes a number. Throws where that would not be exact. */
export function toNumber(value: Int8): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new Error(`The database gave ${value} for a sid, which is no integer below 2^53.`)
}
