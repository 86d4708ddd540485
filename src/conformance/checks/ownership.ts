import { isObject, type Payload } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, RecordName, User } from '../context.ts'
import { type Copy, missingIn } from '../copy.ts'
import { keyOf } from '../messages.ts'
import { holdRefused } from './transactions.ts'

const needs = ['tx', 'token', 'other-token', 'insert'] as const
const seesRule = 'A caller has one owner or several, and sees the records of all of them.'

/** How long a push may take, in ms, until its absence is believed. */
const quietMs = 500

export const ownershipChecks: readonly Check[] = [
  {
    name: 'ownership/snapshot',
    title: 'A snapshot has no records of another user.',
    paragraph: 'Owners, sizes and models',
    rule: seesRule,
    needs,
    async run(context) {
      await holdOtherUser(context)
      const record = context.record()
      await context.write([context.insertion(record)])
      const { rows } = await context.snapshot('other-token')
      const row = rows.find((row) => keyOf(row) === keyOf(record))
      context.hold(row === undefined, 'The snapshot of the other user does not have the record.')
    },
  },
  {
    name: 'ownership/delta',
    title: 'A delta has no changes of another user.',
    paragraph: 'Owners, sizes and models',
    rule: seesRule,
    needs,
    async run(context) {
      await holdOtherUser(context)
      const record = context.record()
      const { sid: before } = await context.snapshot('other-token')
      await context.write([context.insertion(record)])
      await context.write([context.removal(record)])
      const { sid, frames = [], rows } = await context.delta(before, 'other-token')
      const change = [...frames, ...rows].find((change) => keyOf(change) === keyOf(record))
      context.hold(change === undefined, 'The delta of the other user does not have the changes.')
      context.hold(sid >= before, 'Its `sid` does not fall.')
    },
  },
  {
    name: 'ownership/pushes',
    title: 'A socket gets no changes of another user.',
    paragraph: 'Owners, sizes and models',
    rule: seesRule,
    needs: [...needs, 'ws'],
    async run(context) {
      await holdOtherUser(context)
      const record = context.record()
      const listener = await context.listen('other-token')
      await context.write([context.insertion(record)])
      await context.pause(quietMs)
      const message = listener.messages.find(({ text }) => text?.includes(JSON.stringify(record.id)))
      context.hold(
        message === undefined,
        'The socket of the other user does not get the change.',
        undefined,
        listener.shown(message),
      )
    },
  },
  {
    name: 'ownership/insert-foreign-id',
    title: "An insertion with the id of another user's record is `exists`.",
    paragraph: 'Ops',
    rule: "| `i` | applied; a foreign owner's id: `exists`, and no more is revealed | `exists` |",
    needs,
    async run(context) {
      const { record, sid } = await foreignRecord(context)
      for (const put of [undefined, true]) {
        const op = { ...context.insertion(record), ...(put && { put }) }
        const result = await context.result(context.tx([op]), 'other-token')
        holdRefused(
          context,
          result,
          'exists',
          `An insertion${put ? ' with `put`' : ''} of the other user is \`exists\`.`,
        )
      }
      await holdStill(context, record, sid)
    },
  },
  {
    name: 'ownership/update-foreign',
    title: "An update of another user's record is `not_found`, and changes nothing.",
    paragraph: 'Ops',
    rule: '| `u` | `not_found` | fields merged; the frame is an `i` if `unset` removed one |',
    needs: [...needs, 'change'],
    async run(context) {
      const { record, sid } = await foreignRecord(context)
      const result = await context.result(context.tx([context.update(record)]), 'other-token')
      holdRefused(context, result, 'not_found', 'An update of the other user is `not_found`.')
      await holdStill(context, record, sid)
    },
  },
  {
    name: 'ownership/remove-foreign',
    title: "A removal of another user's record does nothing.",
    paragraph: 'Ops',
    rule: '| `d` | nothing, no frame | removed |',
    needs,
    async run(context) {
      const { record, sid } = await foreignRecord(context)
      await context.result(context.tx([context.removal(record)]), 'other-token')
      await holdStill(context, record, sid)
    },
  },
  {
    name: 'ownership/transaction-ids',
    title: "A transaction's id of another user reveals nothing, and may be used.",
    paragraph: 'Repeated transactions',
    rule: "They belong to the user who sent the transaction: another user's ids reveal nothing.",
    needs,
    async run(context) {
      await holdOtherUser(context)
      const [mine, others] = [context.record(), context.record()]
      const tx = context.tx([context.insertion(mine)])
      await context.result(tx)
      const result = await context.result({ ...tx, ops: [context.insertion(others)] }, 'other-token')
      context.hold(
        result.sid !== undefined,
        "The other user's transaction with the same id is accepted.",
        `It is ${result.error?.code}.`,
      )
      const copy = await context.copyAt(result.sid ?? 0, 'other-token')
      context.holdUnless(missingIn(copy.get(others), others.p), 'It is carried out.')
    },
  },
  {
    name: 'ownership/move',
    title: 'A record that moves to another owner goes from one user to the other, or stays.',
    paragraph: 'Owners, sizes and models',
    rule: 'If a record moves from one owner to another, whoever sees only the old owner gets a `d`, and whoever sees only the new one gets an `i`, the whole record.',
    needs,
    async run(context) {
      await holdOtherUser(context)
      const record = context.record()
      const owner = await ownerFieldOf(context)
      const { sid } = await context.write([context.insertion(record)])
      const [mine, others] = [await context.copy(), await context.copy('other-token')]
      const move = { ...context.update(record, { [owner.field]: owner.other }) }
      const result = await context.result(context.tx([move]))
      if (result.error) return holdStill(context, record, sid)
      const { exchange } = result
      context.run.made.add(record, 'other-token')
      await reachRecord(context, others, record)
      context.holdUnless(missingIn(others.get(record), record.p), 'The new owner gets the whole record.')
      await context.reach(mine, result.sid)
      if (!mine.hasRows)
        context.holdUnless(missingIn(mine.get(record), undefined), 'The old owner gets a `d`.')
      const [left, there] = [
        await context.copyAt(result.sid),
        await context.copyAt(result.sid, 'other-token'),
      ]
      context.hold(
        left.hasRows || left.get(record) === undefined,
        "The record is not in the old owner's snapshot.",
        undefined,
        exchange,
      )
      context.holdUnless(missingIn(there.get(record), record.p), "The record is in the new owner's snapshot.")
    },
  },
]

/** With two tokens of one user, nothing about ownership can be found out. */
async function holdOtherUser(context: Context): Promise<void> {
  const callerOf = async (as: User) => (await context.snapshot(as)).json.caller
  const [one, other] = await Promise.all([callerOf('token'), callerOf('other-token')])
  if (one !== undefined && one === other)
    context.untested('`--token` and `--other-token` are of the same user: both have the same `caller`.')
}

/** A record that the first user has inserted, and the position of the insertion. */
async function foreignRecord(context: Context) {
  await holdOtherUser(context)
  const record = context.record()
  const { sid } = await context.write([context.insertion(record)])
  return { record, sid }
}

/** Brings the other user's copy to a delta with `record`: that user may count other positions. */
async function reachRecord(context: Context, copy: Copy, record: RecordName): Promise<void> {
  const end = context.clock.now() + context.wire.requestMs
  do {
    await context.reach(copy, copy.sid, 'other-token')
    if (copy.get(record)) return
    await context.pause(50)
  } while (context.clock.now() < end)
}

/** The record of the first user, which was written at `sid`, is there, unchanged. */
async function holdStill(
  context: Context,
  record: RecordName & { readonly p: Payload },
  sid: number,
): Promise<void> {
  const { last } = context.wire
  const copy = await context.copyAt(sid)
  context.holdUnless(
    missingIn(copy.get(record), record.p),
    "The first user's record is still there, unchanged.",
    last,
  )
}

/** The field that names the owner: the server sets it, alike for two records of a user, and otherwise for another user. */
async function ownerFieldOf(context: Context): Promise<{ readonly field: string; readonly other: string }> {
  const fieldsOf = async (as: User) => {
    const record = context.record()
    const { sid } = await context.write([context.insertion(record)], {}, as)
    const fields = (await context.copyAt(sid, as)).get(record)
    return isObject(fields) ? fields : {}
  }
  const [one, two, other] = [await fieldsOf('token'), await fieldsOf('token'), await fieldsOf('other-token')]
  const found = Object.keys(one).filter(
    (name) => one[name] === two[name] && typeof other[name] === 'string' && one[name] !== other[name],
  )
  const [field] = found
  if (field === undefined || found.length > 1)
    return context.untested('The fields of the records do not show which of them names the owner.')
  return { field, other: String(other[field]) }
}
