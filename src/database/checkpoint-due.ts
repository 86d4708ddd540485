import type { DatabaseSize } from './database.ts'

/** A journal this small costs a restart nothing worth saving. */
const leastBytes = 500_000

/** The journal's share of the pages from which replaying it costs more than folding it. */
const share = 0.25

/** Whether a checkpoint is worth its work. */
export function checkpointDue({ pageBytes, journalBytes }: DatabaseSize): boolean {
  return journalBytes > Math.max(leastBytes, share * pageBytes)
}
