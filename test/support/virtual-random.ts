/** Mulberry32: a generator of numbers in [0, 1) whose whole state is one 32-bit number. The same seed, the same row. */
export function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `items` in an order of its own (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items]
  for (let last = result.length - 1; last > 0; last -= 1) {
    const [taken] = result.splice(Math.floor(random() * (last + 1)), 1)
    if (taken !== undefined) result.push(taken)
  }
  return result
}
