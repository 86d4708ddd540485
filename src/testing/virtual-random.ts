import type { Random } from '../base/environment.ts'

/** Mulberry32: a generator of numbers in [0, 1) with a 32-bit state. The same seed produces the same sequence. */
export function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function seededRandom(seed: number): Random {
  const number = mulberry32(seed)
  return {
    number,
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(number() * 256)),
  }
}
