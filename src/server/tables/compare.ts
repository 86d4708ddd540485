import type { JsonValue, Payload } from '../../protocol/json.ts'
import { jsonEqual } from '../../protocol/json.ts'
import type { CommittedChange, StoredRecord } from '../log/log.ts'

/** The state of a record at one moment. */
export type RecordState = Pick<StoredRecord, 'owner' | 'p'>

/** The changes that lead from one state of a record to another; none if they are equal. */
export function changesBetween(
  before: RecordState | undefined,
  after: RecordState | undefined,
): readonly CommittedChange[] {
  if (!after) return before ? [{ owner: before.owner, change: { op: 'd' } }] : []
  const { owner, p } = after
  const arrival: CommittedChange = { owner, change: { op: 'i', p } }
  if (!before) return [arrival]
  if (before.owner !== owner) return [{ owner: before.owner, movedTo: owner, change: { op: 'd' } }, arrival]
  // An update cannot remove a field, as after a change of the mapping.
  if (Object.keys(before.p).some((field) => !Object.hasOwn(p, field))) return [arrival]
  const changed = Object.entries(p).filter(([field, value]) => !jsonEqual(value, fieldOf(before.p, field)))
  return changed.length === 0 ? [] : [{ owner, change: { op: 'u', p: Object.fromEntries(changed) } }]
}

function fieldOf(p: Payload, field: string): JsonValue | undefined {
  return Object.hasOwn(p, field) ? p[field] : undefined
}
