import type { DatabaseSize } from './database.ts'

/** A journal this small, in UTF-16 units, costs a restart nothing worth saving. */
const minUnits = 500_000

/** The journal's share of the pages from which replaying it costs more than folding it. */
const share = 0.25

/** Whether a checkpoint is worth its work. */
export function checkpointDue({ pageUnits, journalUnits }: DatabaseSize): boolean {
  return journalUnits > Math.max(minUnits, share * pageUnits)
}
