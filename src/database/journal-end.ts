import { isSid } from '../protocol/guards.ts'
import { isObject } from '../protocol/json.ts'
import type { StoreTransaction, StoreValue } from '../storage/store.ts'
import { type Head, metaKeys, readHead } from './format.ts'

/** A position, and when it was stored, in ms since the epoch. */
export interface StoredPosition {
  readonly sid: number
  readonly at: number
}

/** How far what is stored reaches. */
export interface JournalEnd extends StoredPosition {
  readonly head: Head
}

/** Where the journal ends; `undefined` where there are no data, or its last record cannot be read. */
export async function readEnd(tx: StoreTransaction): Promise<JournalEnd | undefined> {
  const [stored, [key]] = await Promise.all([
    tx.get('meta', metaKeys.head),
    tx.keys('journal', { reverse: true, limit: 1 }),
  ])
  const head = readHead(stored)
  if (!head) return undefined
  if (key === undefined) return { head, sid: head.base, at: head.at }
  const last = await tx.get('journal', key)
  if (!isObject(last) || !isSid(last.sid) || typeof last.at !== 'number') return undefined
  return { head, sid: last.sid, at: last.at }
}

/** A record that takes a place and says nothing, behind what reaches `sid`. */
export function emptyRecord({ sid, at }: StoredPosition): StoreValue {
  return { since: sid, sid, at, ops: '[]' }
}
