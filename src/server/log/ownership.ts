import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import type { Judge, StoredRecord, Told, Verdict } from './log.ts'
import { WriteRejectedError } from './rejection.ts'

const nothing: Verdict = { after: undefined, told: [] }
const removal: Told['change'] = { op: 'd' }

/**
 * The rules of a write by the service itself, which may touch and move whatever it likes. A record belongs to
 * whoever its field `ownerField` names; where an op names another, the old owner is told of a removal and the new
 * one of a whole record.
 */
export function ownershipJudge(ownerField: string): Judge {
  return (before, op) => {
    if (before && op.unchangedSince !== undefined && before.sid > op.unchangedSince) {
      throw new WriteRejectedError('conflict', `${name(op)} has changed since ${op.unchangedSince}.`)
    }
    switch (op.op) {
      case 'i':
        if (before && !op.put) throw new WriteRejectedError('exists', `${name(op)} exists already.`)
        return replaced(before, ownerIn(ownerField, op, op.p), op.p)
      case 'u': {
        if (!before) throw new WriteRejectedError('not_found', `${name(op)} does not exist.`)
        const p = { ...before.p, ...op.p }
        const owner = ownerIn(ownerField, op, p)
        if (owner !== before.owner) return replaced(before, owner, p)
        return { after: { owner, p }, told: [{ owner, change: { op: 'u', p: op.p } }] }
      }
      case 'd':
        return before ? { after: undefined, told: [{ owner: before.owner, change: removal }] } : nothing
    }
  }
}

function replaced(before: StoredRecord | undefined, owner: string, p: Payload): Verdict {
  const arrival: Told = { owner, change: { op: 'i', p } }
  const moved = before && before.owner !== owner
  return {
    after: { owner, p },
    told: moved ? [{ owner: before.owner, change: removal }, arrival] : [arrival],
  }
}

function ownerIn(ownerField: string, op: TxOp, p: Payload): string {
  const owner = Object.hasOwn(p, ownerField) ? p[ownerField] : undefined
  if (typeof owner === 'string' && owner !== '') return owner
  throw new WriteRejectedError('invalid', `${name(op)} names no owner: \`${ownerField}\` must be a string.`)
}

function name({ t, id }: TxOp): string {
  return `The ${t} ${id}`
}
