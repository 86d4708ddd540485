import { isOp, type RowOp } from '../protocol/fold.ts'
import { isObject, noFields } from '../protocol/json.ts'
import type { StoreTransaction } from '../storage/store.ts'
import { metaKeys } from './format.ts'

/** At most this many changes to unknown records are kept beside the journal. */
const maxUnknown = 1_000

/** What is known of missing records for which changes have arrived. A snapshot brings these records. */
export interface Repair {
  /** Whether a snapshot is needed. */
  readonly owed: boolean
  /** When the last such snapshot was made, in ms since the epoch. */
  readonly at: number | undefined
  /**
   * Changes to missing records, without their fields. The journal no longer has these changes, and they have not been
   * reported yet.
   */
  readonly unknown: readonly RowOp[]
}

/**
 * Reads the stored values leniently: without them, a repair is made too early or not at all, and nothing else is lost.
 */
export async function readRepair(tx: StoreTransaction): Promise<Repair> {
  const value = await tx.get('meta', metaKeys.repair)
  const { owed, at, unknown }: { readonly [name: string]: unknown } = isObject(value) ? value : {}
  return {
    owed: owed === true,
    at: typeof at === 'number' ? at : undefined,
    unknown: Array.isArray(unknown) ? unknown.filter(isOp) : [],
  }
}

/** Stores the values. If there are more changes than are kept, keeps none of them and marks a snapshot as needed. */
export function writeRepair(tx: StoreTransaction, { owed, at, unknown }: Repair): void {
  const isKept = unknown.length <= maxUnknown
  tx.put('meta', metaKeys.repair, {
    owed: owed || !isKept,
    at,
    unknown: isKept ? unknown.map(({ t, id }) => ({ op: 'u', t, id, p: noFields })) : [],
  })
}
