import type { Models } from '../../models/models.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { isOwner } from '../auth/owners.ts'
import { checkSize, defaultRecordBytes } from './check-size.ts'
import { Copies, type Merged } from './copies.ts'
import type { CommittedChange, Effect, Judge, StoredRecord } from './log.ts'
import { WriteRejectedError } from './rejection.ts'

const nothing: Effect = { after: undefined, changes: [] }
const removal: CommittedChange['change'] = { op: 'd' }

export interface WriteRules {
  readonly ownerField: string
  readonly models: Models | undefined
  /** The maximum length of a record's fields, in bytes of JSON. @default 1_048_576 */
  readonly maxRecordBytes?: number
  /**
   * The owners for whom the write is made. Records of other owners count as absent, a new record that names no owner
   * belongs to the first of them, and records only move between them. `undefined` is the service itself, which may
   * write and move all records.
   */
  readonly owners?: readonly string[]
  /** Allows the write to move records of `owners` to others, and to insert records for others. */
  readonly mayChangeOwner?: boolean
}

/** The record, unless it belongs to none of `owners`; `undefined` is the service, which owns all records. */
export function ownRecord(
  stored: StoredRecord | undefined,
  owners?: readonly string[],
): StoredRecord | undefined {
  const isForeign = stored !== undefined && owners?.includes(stored.owner) === false
  return isForeign ? undefined : stored
}

/**
 * Returns the rules of a write. A record belongs to the owner that its field `ownerField` names. If an op changes the
 * owner, the old owner receives a removal, and the new owner receives the whole record. A `put` that names no owner and
 * an `unset` of the owner leave the record with its owner.
 */
export function ownershipJudge(rules: WriteRules): Judge {
  const { ownerField, models, maxRecordBytes = defaultRecordBytes, owners, mayChangeOwner } = rules
  const own: ReadonlySet<unknown> | undefined = owners && new Set(owners)
  const mayName = (owner: unknown) => own === undefined || own.has(owner) || mayChangeOwner === true
  const judge = (stored: StoredRecord | undefined, op: TxOp, changed: boolean, copies: Copies): Effect => {
    const before = ownRecord(stored, owners)
    const isForeign = stored !== before
    if (op.op === 'd') {
      if (!before) return nothing
      refuseChanged(op, changed)
      copies.checks.remove(op)
      return { after: undefined, changes: [{ owner: before.owner, change: removal }] }
    }
    if (Object.hasOwn(op.p, ownerField) && !mayName(op.p[ownerField])) {
      throw new WriteRejectedError(
        'forbidden',
        `${name(op)} cannot get this \`${ownerField}\`: its value is not one of the caller's owners.`,
      )
    }
    if (op.op === 'u' && !before) throw new WriteRejectedError('not_found', `${name(op)} does not exist.`)
    if (op.op === 'i' && (isForeign || (before && !op.put))) {
      throw new WriteRejectedError('exists', `${name(op)} already exists.`)
    }
    refuseChanged(op, changed)
    const unset = op.op === 'u' ? op.unset?.filter((field) => field !== ownerField) : undefined
    // An update frame cannot remove a field, so the whole record is sent.
    const isWhole = op.op === 'i' || unset?.some((field) => before && Object.hasOwn(before.p, field))
    const { p, was, is } =
      op.op === 'u'
        ? copies.merge(before?.p, op.p, unset)
        : whole(before?.p, stamped(op, ownerField, before?.owner, owners))
    const next = ownerIn(ownerField, op, p)
    checkSize(maxRecordBytes, op, was, is)
    copies.checks.add(models, op, before?.p, p)
    if (!isWhole && next === before?.owner) {
      return { after: { owner: next, p }, changes: [{ owner: next, change: { op: 'u', p: op.p } }] }
    }
    if (unset) copies.countWhole(p)
    copies.share(p)
    return replaced(before, next, p)
  }
  const judgeAlone: Judge = (stored, op, changed, copies) => {
    if (copies) return judge(stored, op, changed, copies)
    const ownCopies = new Copies()
    const effect = judge(stored, op, changed, ownCopies)
    ownCopies.checks.run()
    return effect
  }
  return Object.assign(judgeAlone, { maxRecordBytes })
}

function refuseChanged(op: TxOp, changed: boolean): void {
  if (changed) throw new WriteRejectedError('conflict', `${name(op)} has changed meanwhile.`)
}

/**
 * The fields of an insert. If they name no owner, they get `current`, the owner of the record that is replaced, or else
 * the first of `owners`. Without both, a write of the service stays as it is.
 */
function stamped(
  op: TxOp & { readonly op: 'i' },
  ownerField: string,
  current: string | undefined,
  owners: readonly string[] | undefined,
): Payload {
  if (Object.hasOwn(op.p, ownerField)) return op.p
  const owner = current ?? owners?.[0]
  if (owner !== undefined) return { ...op.p, [ownerField]: owner }
  if (!owners) return op.p
  throw new WriteRejectedError('forbidden', `${name(op)} needs an owner, and the caller has none.`)
}

function whole(was: Payload | undefined, p: Payload): Merged {
  return { p, was, is: p }
}

function replaced(before: StoredRecord | undefined, owner: string, p: Payload): Effect {
  const arrival: CommittedChange = { owner, change: { op: 'i', p } }
  const moved = before && before.owner !== owner
  return {
    after: { owner, p },
    changes: moved ? [{ owner: before.owner, change: removal, movedTo: owner }, arrival] : [arrival],
  }
}

function ownerIn(ownerField: string, op: TxOp, p: Payload): string {
  const owner = Object.hasOwn(p, ownerField) ? p[ownerField] : undefined
  if (isOwner(owner)) return owner
  throw new WriteRejectedError('invalid', `${name(op)} has no valid owner in \`${ownerField}\`.`)
}

function name({ t, id }: TxOp): string {
  return `The ${t} ${id}`
}
