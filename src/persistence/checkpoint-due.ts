import type { DataSize } from './stored-data.ts'

/** A journal up to this size, in UTF-16 units, is read quickly enough at a restart. */
const minUnits = 500_000

/** A journal larger than this share of the pages costs more to replay than to fold. */
const share = 0.25

/** Whether the journal is large enough for a checkpoint. */
export function checkpointDue({ pageUnits, journalUnits }: DataSize): boolean {
  return journalUnits > Math.max(minUnits, share * pageUnits)
}
