/** How many of `times`, in ascending ms, lie in the second that has the most of them. */
export function busiestSecond(times: readonly number[]): number {
  let first = 0
  return times.reduce((most, at, index) => {
    while ((times[first] ?? at) <= at - 1_000) first += 1
    return Math.max(most, index - first + 1)
  }, 0)
}
