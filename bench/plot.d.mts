export interface BenchResult {
  readonly machine: string
  readonly rows: number
  readonly megabytes: number
  readonly rounds: number
  /** By contender, then by what was measured. */
  readonly figures: { readonly [name: string]: { readonly [column: string]: number } }
}

export function plotOf(result: BenchResult): string
