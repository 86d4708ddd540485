/** The values of each axis. */
export type Axes = { readonly [axis: string]: readonly unknown[] }

type RowOf<A extends Axes> = { readonly [Axis in keyof A]: A[Axis][number] }

/** Rows in which each value of an axis meets each value of every other axis. The same rows each time. */
export function allPairs<A extends Axes>(axes: A): readonly RowOf<A>[] {
  const names = Object.keys(axes)
  const open = new Set<string>()
  const pairOf = (a: number, x: number, b: number, y: number) => [a, x, b, y].join()
  const sizes = names.map((name) => axes[name]?.length ?? 0)
  for (let a = 0; a < names.length; a += 1)
    for (let b = a + 1; b < names.length; b += 1)
      for (let x = 0; x < (sizes[a] ?? 0); x += 1)
        for (let y = 0; y < (sizes[b] ?? 0); y += 1) open.add(pairOf(a, x, b, y))
  const rows: RowOf<A>[] = []
  while (open.size > 0) {
    const [first = ''] = open
    const chosen = new Map<number, number>()
    const [a = 0, x = 0, b = 0, y = 0] = first.split(',').map(Number)
    chosen.set(a, x).set(b, y)
    for (let axis = 0; axis < names.length; axis += 1) {
      if (chosen.has(axis)) continue
      const gain = (value: number) =>
        [...chosen].filter(([other, at]) =>
          open.has(other < axis ? pairOf(other, at, axis, value) : pairOf(axis, value, other, at)),
        ).length
      const values = Array.from({ length: sizes[axis] ?? 0 }, (_, value) => value)
      // Begin at another value in each row, so that no value is preferred.
      const turned = values.map((_, index) => (index + rows.length) % values.length)
      chosen.set(
        axis,
        turned.reduce((best, value) => (gain(value) > gain(best) ? value : best)),
      )
    }
    for (const [one, at] of chosen)
      for (const [other, value] of chosen) if (one < other) open.delete(pairOf(one, at, other, value))
    const row = names.map((name, axis) => [name, axes[name]?.[chosen.get(axis) ?? 0]])
    rows.push(Object.fromEntries(row))
  }
  return rows
}
