// The rules beyond ownership: who may change what, and the fields that the server sets.
import { WriteRejectedError } from 'instep/server'

/** Decides about a client's transaction. Ownership is checked afterwards, by the service. */
export async function authorize({ ops }, { userId, owners }, { read }) {
  for (const { op, t, id, p } of ops) {
    if (t === 'Membership') return { message: 'The application decides who is in a team.' }
    // Also for inserts: with `put`, an insert replaces a record.
    const before = await read(t, id)
    // Say nothing about records that the caller does not see. The service treats them as absent.
    if (!before || !owners.includes(before.owner)) continue

    if (before.status === 'closed') return { message: `Issue ${before.number} is closed, and stays closed.` }
    const isMove = p?.owner !== undefined && p.owner !== before.owner
    if (isMove && before.owner !== `user:${userId}` && !(await isAdmin(read, before.owner, userId))) {
      return { message: 'Only admins of a team move its issues.' }
    }
    const onlyMoves = isMove && op === 'u' && Object.keys(p).length === 1
    if (t === 'Comment' && !onlyMoves && before.author !== userId) {
      return { message: 'Only its author edits a comment.' }
    }
    if (t === 'Issue' && op === 'd' && before.author !== userId) {
      return { message: 'Only its author deletes an issue.' }
    }
  }
}

async function isAdmin(read, owner, userId) {
  const membership = await read('Membership', `${owner.replace('team:', '')}/${userId}`)
  return membership?.role === 'admin'
}

/** Sets author, number and times, whatever the client sent for them. `nextNumber`: returns the number of a new issue. */
export function createPrepare(nextNumber) {
  return async (op, { before, caller, now, read }) => {
    if (op.op === 'd' || op.t === 'Note') return op
    const { author, number, createdAt, ...fields } = op.p
    const p = { ...fields, changedAt: now }
    if (op.t === 'Comment') {
      // A comment belongs to its issue for good, and to the owner of its issue.
      p.issue = before?.issue ?? p.issue
      p.owner = await ownerOfIssue(read, p.issue, caller)
    }
    if (op.op === 'u') return { ...op, p }
    const first = before ?? { author: caller.userId, createdAt: now }
    p.author = first.author
    p.createdAt = first.createdAt
    if (op.t === 'Issue') p.number = before?.number ?? nextNumber()
    return { ...op, p }
  }
}

async function ownerOfIssue(read, id, { owners }) {
  const issue = typeof id === 'string' ? await read('Issue', id) : undefined
  if (issue && owners.includes(issue.owner)) return issue.owner
  throw new WriteRejectedError('not_found', 'There is no such issue.')
}
