export { mulberry32 } from '../../src/testing/virtual-random.ts'

/** `items` in an order of its own (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items]
  for (let last = result.length - 1; last > 0; last -= 1) {
    const [taken] = result.splice(Math.floor(random() * (last + 1)), 1)
    if (taken !== undefined) result.push(taken)
  }
  return result
}
