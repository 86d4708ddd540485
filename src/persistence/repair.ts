import { isOp, type RowOp } from '../protocol/fold.ts'
import { isObject, noFields } from '../protocol/json.ts'
import type { StoreTransaction } from '../storage/store.ts'
import { metaKeys } from './format.ts'

/** So many changes to unknown records are kept beside the journal. */
const maxUnknown = 1_000

/** What is stored of records that are missing, of which there were changes: a snapshot brings them. */
export interface Repair {
  /** Whether such a snapshot is owed. */
  readonly owed: boolean
  /** When one was last made, in ms since the epoch. */
  readonly at: number | undefined
  /** Changes to records that are not there, without their fields, which the journal no longer has and nobody was told. */
  readonly unknown: readonly RowOp[]
}

/** Reads it leniently: without it, a repair is made too early or not at all, and no more is lost. */
export async function readRepair(tx: StoreTransaction): Promise<Repair> {
  const value = await tx.get('meta', metaKeys.repair)
  const { owed, at, unknown }: { readonly [name: string]: unknown } = isObject(value) ? value : {}
  return {
    owed: owed === true,
    at: typeof at === 'number' ? at : undefined,
    unknown: Array.isArray(unknown) ? unknown.filter(isOp) : [],
  }
}

/** Of more changes than are kept none is: what they tell is owed then. */
export function writeRepair(tx: StoreTransaction, { owed, at, unknown }: Repair): void {
  const isKept = unknown.length <= maxUnknown
  tx.put('meta', metaKeys.repair, {
    owed: owed || !isKept,
    at,
    unknown: isKept ? unknown.map(({ t, id }) => ({ op: 'u', t, id, p: noFields })) : [],
  })
}
