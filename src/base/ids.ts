import type { Clock, Random } from './environment.ts'

/** Makes ids whose sort order is the order in which they were made. */
export interface Ids {
  next(): string
}

/**
 * Makes UUIDs of version 7 (RFC 9562, section 5.7). The 12 bits after the time are a counter (section 6.2, method 1),
 * so ids are in order even if they were made in the same ms or after the clock was set back.
 */
export function createIds(clock: Pick<Clock, 'now'>, random: Random): Ids {
  let ms = 0
  let count = 0
  return {
    next() {
      const now = Math.floor(clock.now())
      if (now > ms) [ms, count] = [now, 0]
      else if (count < 0xfff) count += 1
      else [ms, count] = [ms + 1, 0]
      const [first = 0, ...rest] = random.bytes(8)
      const tail = hexOf([(first & 0x3f) | 0x80, ...rest])
      const digits = `${hex(ms, 12)}7${hex(count, 3)}${tail}`
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    },
  }
}

function hexOf(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => hex(byte, 2)).join('')
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}

/** Returns a random name of 16 hexadecimal digits. */
export function randomName(random: Pick<Random, 'bytes'>): string {
  return hexOf(random.bytes(8))
}
