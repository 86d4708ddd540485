const msOf: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a time like `500ms`, `90s`, `15m`, `12h` or `7d`. Returns ms, or `undefined` for anything else. */
export function durationOf(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Number(count) * (msOf[unit] ?? Number.NaN)
  return Number.isSafeInteger(ms) ? ms : undefined
}
