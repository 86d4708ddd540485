import type { Models } from '../../models/models.ts'
import type { Payload } from '../../protocol/json.ts'
import { isStorableName } from '../../protocol/json-copy.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { checkSize, defaultRecordBytes } from './check-size.ts'
import { Copies, type Merged } from './copies.ts'
import type { CommittedChange, Effect, Judge, StoredRecord } from './log.ts'
import { WriteRejectedError } from './rejection.ts'

const nothing: Effect = { after: undefined, told: [] }
const removal: CommittedChange['change'] = { op: 'd' }

export interface WriteRules {
  readonly ownerField: string
  readonly models: Models | undefined
  /** The maximum length of a record's fields, in bytes of JSON. @default 1_048_576 */
  readonly maxRecordBytes?: number
  /**
   * The owner for whom the write is made. Records of other owners count as absent, new records belong to `owner`, and
   * no record changes its owner. `undefined` is the service itself, which may write and move all records.
   */
  readonly owner?: string
  /** Allows the write to move records of `owner` to others, and to insert records for others. */
  readonly mayChangeOwner?: boolean
}

/** The record, unless it belongs to another owner than `owner`; `undefined` is the service, which owns all records. */
export function ownRecord(stored: StoredRecord | undefined, owner?: string): StoredRecord | undefined {
  const isForeign = stored !== undefined && owner !== undefined && stored.owner !== owner
  return isForeign ? undefined : stored
}

/**
 * Returns the rules of a write. A record belongs to the owner that its field `ownerField` names. If an op changes the
 * owner, the old owner receives a removal, and the new owner receives the whole record.
 */
export function ownershipJudge(rules: WriteRules): Judge {
  const { ownerField, models, maxRecordBytes = defaultRecordBytes, owner, mayChangeOwner } = rules
  const mayName = owner === undefined || mayChangeOwner === true
  const judge = (stored: StoredRecord | undefined, op: TxOp, changed: boolean, copies: Copies): Effect => {
    const before = ownRecord(stored, owner)
    const isForeign = stored !== before
    if (op.op === 'd') {
      if (!before) return nothing
      refuseChanged(op, changed)
      copies.checks.remove(op)
      return { after: undefined, told: [{ owner: before.owner, change: removal }] }
    }
    if (!mayName && Object.hasOwn(op.p, ownerField) && op.p[ownerField] !== owner) {
      throw new WriteRejectedError(
        'forbidden',
        `${name(op)} cannot get another \`${ownerField}\`: the write may not change owners.`,
      )
    }
    if (op.op === 'u' && !before) throw new WriteRejectedError('not_found', `${name(op)} does not exist.`)
    if (op.op === 'i' && (isForeign || (before && !op.put))) {
      throw new WriteRejectedError('exists', `${name(op)} already exists.`)
    }
    refuseChanged(op, changed)
    const { p, was, is } =
      op.op === 'u' ? copies.merge(before?.p, op.p) : whole(before?.p, stamped(op.p, ownerField, owner))
    const next = ownerIn(ownerField, op, p)
    checkSize(maxRecordBytes, op, was, is)
    copies.checks.add(models, op, before?.p, p)
    if (op.op === 'u' && next === before?.owner) {
      return { after: { owner: next, p }, told: [{ owner: next, change: { op: 'u', p: op.p } }] }
    }
    copies.share(p)
    return replaced(before, next, p)
  }
  return (stored, op, changed, copies) => {
    if (copies) return judge(stored, op, changed, copies)
    const ownCopies = new Copies()
    const effect = judge(stored, op, changed, ownCopies)
    ownCopies.checks.run()
    return effect
  }
}

function refuseChanged(op: TxOp, changed: boolean): void {
  if (changed) throw new WriteRejectedError('conflict', `${name(op)} has changed since ${op.unchangedSince}.`)
}

function stamped(p: Payload, ownerField: string, owner: string | undefined): Payload {
  return owner === undefined || Object.hasOwn(p, ownerField) ? p : { ...p, [ownerField]: owner }
}

function whole(was: Payload | undefined, p: Payload): Merged {
  return { p, was, is: p }
}

function replaced(before: StoredRecord | undefined, owner: string, p: Payload): Effect {
  const arrival: CommittedChange = { owner, change: { op: 'i', p } }
  const moved = before && before.owner !== owner
  return {
    after: { owner, p },
    told: moved ? [{ owner: before.owner, change: removal }, arrival] : [arrival],
  }
}

function ownerIn(ownerField: string, op: TxOp, p: Payload): string {
  const owner = Object.hasOwn(p, ownerField) ? p[ownerField] : undefined
  if (owner !== '' && isStorableName(owner)) return owner
  throw new WriteRejectedError('invalid', `${name(op)} has no valid owner in \`${ownerField}\`.`)
}

function name({ t, id }: TxOp): string {
  return `The ${t} ${id}`
}
