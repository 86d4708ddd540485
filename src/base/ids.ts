import type { Clock, Random } from './environment.ts'

/** Gives identifiers whose order is the order in which they were made. */
export interface Ids {
  next(): string
  /** What `next` gives comes after `id`, whatever the clock says. */
  follow(id: string): void
}

/**
 * UUIDs of version 7 (RFC 9562, section 5.7). The 12 bits behind the time count on (section 6.2, method 1), so those
 * made in one ms, or after the clock was set back, are in order all the same.
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
      const tail = [(first & 0x3f) | 0x80, ...rest].map((byte) => hex(byte, 2)).join('')
      const digits = `${hex(ms, 12)}7${hex(count, 3)}${tail}`
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    },
    follow(id) {
      const digits = id.replaceAll('-', '')
      const at = Number.parseInt(digits.slice(0, 12), 16)
      const place = Number.parseInt(digits.slice(13, 16), 16)
      if (at > ms || (at === ms && place > count)) [ms, count] = [at, place]
    },
  }
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
