import type { Clock, Random } from './environment.ts'

/** Gives identifiers whose order is the order in which they were made. */
export interface Ids {
  next(): string
  /** What `next` gives comes after `id`, whatever the clock says. */
  follow(id: string): void
}

/** For so many ids random bits are drawn at once: a browser takes about as long for those of one. */
const drawn = 128

/** Each byte in two hex digits: to make them takes longer than all else about an id. */
const pairs = /* @__PURE__ */ Array.from({ length: 0x100 }, (_, byte) => hex(byte, 2))

/**
 * UUIDs of version 7 (RFC 9562, section 5.7). The 12 bits behind the time count on (section 6.2, method 1), so those
 * made in one ms, or after the clock was set back, are in order all the same.
 */
export function createIds(clock: Pick<Clock, 'now'>, random: Random): Ids {
  let ms = 0
  let count = 0
  let bits: Uint8Array = new Uint8Array()
  let used = 0
  const nextByte = () => bits[used++] ?? 0
  return {
    next() {
      const now = Math.floor(clock.now())
      if (now > ms) [ms, count] = [now, 0]
      else if (count < 0xfff) count += 1
      else [ms, count] = [ms + 1, 0]
      if (used + 8 > bits.length) [bits, used] = [random.bytes(8 * drawn), 0]
      let tail = `${pairs[(nextByte() & 0x3f) | 0x80]}${pairs[nextByte()]}-`
      while (tail.length < 17) tail += pairs[nextByte()]
      const time = hex(ms, 12)
      return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(count, 3)}-${tail}`
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
