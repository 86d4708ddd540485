export interface BackoffOptions {
  /** The first ceiling, in ms. */
  readonly baseMs: number
  /** The highest ceiling, in ms. */
  readonly capMs: number
}

export const defaultBackoff: BackoffOptions = { baseMs: 500, capMs: 30_000 }

/**
 * How long to wait before the next try, in ms: a random share of a ceiling that doubles with each failure. The
 * jitter is drawn after the cap, so clients that failed together do not come back together.
 *
 * @param failures how many tries have failed in a row, 1 or more
 * @param random a number in [0, 1)
 */
export function backoffMs(failures: number, random: number, options = defaultBackoff): number {
  const ceiling = Math.min(options.capMs, options.baseMs * 2 ** (failures - 1))
  return Math.round(random * ceiling)
}
