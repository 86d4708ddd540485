export interface BackoffOptions {
  /** The first ceiling, in ms. */
  readonly baseMs: number
  /** The highest ceiling, in ms. */
  readonly capMs: number
}

export const defaultBackoff: BackoffOptions = { baseMs: 500, capMs: 30_000 }

/**
 * The wait before the next try, in ms: a random part of a ceiling that doubles with each failure. The random part
 * applies to the capped ceiling, so clients that failed together do not return together.
 *
 * @param failures the number of failures in a row, at least 1
 * @param random a number in [0, 1)
 */
export function backoffMs(failures: number, random: number, options = defaultBackoff): number {
  const ceiling = Math.min(options.capMs, options.baseMs * 2 ** (failures - 1))
  return Math.round(random * ceiling)
}
