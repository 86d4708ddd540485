import type { Authorize, Prepare, RecordReader } from 'instep/server'

/** Decides about a client's transaction. The service checks the owners afterwards. */
export const authorize: Authorize = async ({ ops }, { userId, owners = [] }, { read }) => {
  for (const op of ops) {
    if (op.t === 'Membership') return { message: 'The application decides who is in a team.' }
    // Read before an insert, too: with `put`, an insert replaces a record.
    const before = await read(op.t, op.id)
    const owner = String(before?.owner)
    // Say nothing about a record that the caller does not see. The service treats it as absent.
    if (!before || op.t !== 'Issue' || !owners.includes(owner)) continue

    const reopens = op.op === 'u' && op.p.status === 'open'
    if (before.status === 'closed' && !reopens) {
      return { message: `“${before.title}” is closed. Reopen it to change it.` }
    }
    if (op.op === 'd' && before.author !== userId) return { message: 'Only its author deletes an issue.' }
    const moves = op.op !== 'd' && op.p.owner !== undefined && op.p.owner !== owner
    if (moves && !(await isAdmin(read, owner, userId)))
      return { message: 'Only admins move issues to other teams.' }
  }
  return undefined
}

async function isAdmin(read: RecordReader, owner: string, userId: string): Promise<boolean> {
  const membership = await read('Membership', `${owner.replace('team:', '')}/${userId}`)
  return membership?.role === 'admin'
}

/** Sets author and time of an issue, whatever the client sent for them. */
export const prepare: Prepare = (op, { before, caller, now }) => {
  if (op.t !== 'Issue' || op.op === 'd') return op
  const { author, createdAt, ...fields } = op.p
  if (op.op === 'u') return { ...op, p: fields }
  const p = { ...fields, author: before?.author ?? caller.userId, createdAt: before?.createdAt ?? now }
  return { ...op, p }
}
