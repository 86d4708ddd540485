import { stride, type Work } from './turns.ts'

/** Sorts `items` by `compare`, in turns: sorts each run, then merges pairs of runs until one is left. */
export function* sort<T>(items: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  let runs: T[][] = []
  for (let start = 0; start < items.length; start += stride) {
    runs.push(items.slice(start, start + stride).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(yield* merge(runs[index] ?? [], runs[index + 1] ?? [], compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Work<T[]> {
  const merged: T[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    if (compare(a[i] as T, b[j] as T) <= 0) {
      merged.push(a[i] as T)
      i += 1
    } else {
      merged.push(b[j] as T)
      j += 1
    }
    if (merged.length % stride === 0) yield
  }
  return merged.concat(a.slice(i), b.slice(j))
}
