/** A UUID of version 7 (RFC 9562, section 5.7). Its first 48 bits are the time in ms. */
const uuid7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/**
 * The time at which `id` was made, in ms since the epoch, by the clock of the device that made it. `undefined` if `id`
 * is not a UUID of version 7.
 */
export function creationTimeOf(id: string): number | undefined {
  const [, high = '', low = ''] = uuid7.exec(id) ?? []
  return high === '' ? undefined : Number.parseInt(high + low, 16)
}
