import { isObject } from '../protocol/json.ts'
import type { StoreTransaction } from '../storage/store.ts'
import { metaKeys } from './format.ts'

/** Whether records are missing for which changes have arrived. A snapshot brings these records. */
export type Repair = {
  /** Whether a snapshot is needed. */
  readonly owed: boolean
  /** When the last such snapshot was made, in ms since the epoch. */
  readonly at: number | undefined
}

/**
 * Reads the stored values leniently: without them, a repair is made too early or not at all, and nothing else is lost.
 */
export async function readRepair(tx: StoreTransaction): Promise<Repair> {
  const value = await tx.get('meta', metaKeys.repair)
  const { owed, at }: { readonly [name: string]: unknown } = isObject(value) ? value : {}
  return { owed: owed === true, at: typeof at === 'number' ? at : undefined }
}

export function writeRepair(tx: StoreTransaction, { owed, at }: Repair): void {
  tx.put('meta', metaKeys.repair, { owed, at })
}
