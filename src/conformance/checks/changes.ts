import { jsonEqual, type Payload } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, Op, RecordName } from '../context.ts'
import { type Copy, missingIn } from '../copy.ts'
import { type Frame, keyOf } from '../messages.ts'

const opsTable = 'Ops'

export const changeChecks: readonly Check[] = [
  {
    name: 'changes/insert',
    title: 'An insertion adds the record, with all fields that were sent.',
    paragraph: opsTable,
    rule: "| `i` | applied; a foreign owner's id: `exists`, and no more is revealed | `exists` |",
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const record = context.record()
      const { copy, frames } = await follow(context, [context.insertion(record)], record)
      holdIs(context, copy, record, record.p)
      const [frame] = frames
      if (frame)
        context.hold(frame.op === 'i', 'The frame of an insertion is an `i`.', `It is \`${frame.op}\`.`)
    },
  },
  {
    name: 'changes/update-merges',
    title: 'An update changes the fields that it lists, and leaves the others.',
    paragraph: 'Rows and frames',
    rule: '| `u` | replaces each top-level field that `p` lists; `null` is a value, and no field can be removed |',
    needs: ['tx', 'token', 'insert', 'change'],
    async run(context) {
      const record = context.record(await context.extraFields())
      const { change } = context.run
      if (Object.keys(record.p).every((name) => name in change))
        context.untested('`--change` has all fields of `--insert`, so that no field would stay as it is.')
      await context.write([context.insertion(record)])
      const { copy } = await follow(context, [context.update(record)], record)
      holdIs(context, copy, record, { ...record.p, ...change })
      holdIs(context, await context.copyAt(copy.sid), record, { ...record.p, ...change })
    },
  },
  {
    name: 'changes/removal',
    title: 'A removal removes the record from snapshots, and from copies.',
    paragraph: 'Rows and frames',
    rule: '| `d` | removes the record; it has no `p` |',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const record = context.record()
      await context.write([context.insertion(record)])
      const { copy } = await follow(context, [context.removal(record)], record)
      if (!copy.hasRows) holdIs(context, copy, record, undefined)
      const snapshot = await context.copyAt(copy.sid)
      if (!snapshot.hasRows) holdIs(context, snapshot, record, undefined)
    },
  },
  {
    name: 'changes/re-insertion',
    title: 'A record whose id was removed can be inserted again, without its earlier fields.',
    paragraph: opsTable,
    rule: "| `i` | applied; a foreign owner's id: `exists`, and no more is revealed | `exists` |",
    needs: ['tx', 'token', 'insert', 'change'],
    async run(context) {
      const record = context.record()
      const change = { ...context.run.change, ...(await context.extraFields()) }
      await context.write([context.insertion(record)])
      await context.write([context.update(record, change)])
      await context.write([context.removal(record)])
      const { copy } = await follow(context, [context.insertion(record)], record)
      holdIs(context, copy, record, record.p)
      holdWithout(context, copy, record, change)
    },
  },
  {
    name: 'changes/put',
    title: 'An insertion with `put` replaces a record as a whole.',
    paragraph: opsTable,
    rule: "| `i` with `put: true` (the whole record) | applied; a foreign owner's: `exists` | replaced; the frame is an `i` |",
    needs: ['tx', 'token', 'insert', 'change'],
    async run(context) {
      const record = context.record()
      const change = { ...context.run.change, ...(await context.extraFields()) }
      await context.write([context.insertion(record)])
      await context.write([context.update(record, change)])
      const { copy, frames } = await follow(context, [{ ...context.insertion(record), put: true }], record)
      holdIs(context, copy, record, record.p)
      holdWithout(context, copy, record, change)
      const [frame] = frames
      if (frame) context.hold(frame.op === 'i', 'The frame of a `put` is an `i`.', `It is \`${frame.op}\`.`)
      const absent = context.record()
      const added = await follow(context, [{ ...context.insertion(absent), put: true }], absent)
      holdIs(context, added.copy, absent, absent.p)
    },
  },
  {
    name: 'changes/null',
    title: 'A field that is set to `null` is there, and `null`.',
    paragraph: 'Rows and frames',
    rule: '`null` is a value, and no field can be removed',
    needs: ['tx', 'token', 'insert', 'change'],
    async run(context) {
      const [field] = Object.keys(context.run.change)
      if (field === undefined) return context.untested('`--change` has no fields.')
      const record = context.record()
      await context.write([context.insertion(record)])
      const result = await context.result(context.tx([context.update(record, { [field]: null })]))
      if (result.error)
        return context.untested(`The server refuses \`null\` in \`${field}\`: ${result.error.code}.`)
      holdIs(context, await context.copyAt(result.sid), record, { ...record.p, [field]: null })
    },
  },
  {
    name: 'changes/several-in-one-transaction',
    title: 'A record that a transaction changes several times has its last state.',
    paragraph: 'Transactions',
    rule: 'A transaction is atomic.',
    needs: ['tx', 'token', 'insert', 'change'],
    async run(context) {
      const [stays, goes] = [context.record(), context.record()]
      const ops: readonly Op[] = [
        context.insertion(stays),
        context.insertion(goes),
        context.update(stays),
        context.update(goes),
        context.removal(goes),
      ]
      const { copy } = await follow(context, ops, stays)
      holdIs(context, copy, stays, { ...stays.p, ...context.run.change })
      if (!copy.hasRows) holdIs(context, copy, goes, undefined)
    },
  },
]

/** Writes `ops`, and follows them by deltas from a copy of before. `frames`: those of `record`. */
async function follow(
  context: Context,
  ops: readonly Op[],
  record: RecordName,
): Promise<{ readonly copy: Copy; readonly frames: readonly Frame[] }> {
  const copy = await context.copy()
  const { sid } = await context.write(ops)
  const frames: Frame[] = []
  await context.reach(copy, sid, 'token', (delta) => frames.push(...(delta.frames ?? [])))
  return { copy, frames: frames.filter((frame) => keyOf(frame) === keyOf(record)) }
}

/** The record has none of the fields of `change` any more that it did not have before. */
function holdWithout(
  context: Context,
  copy: Copy,
  record: RecordName & { readonly p: Payload },
  change: Payload,
): void {
  const fields = copy.get(record) ?? {}
  const kept = Object.keys(change).find(
    (name) => !(name in record.p) && jsonEqual(fields[name], change[name]),
  )
  context.hold(
    kept === undefined,
    'The record has only the fields that were sent last.',
    `It still has \`${kept}\`.`,
  )
}

function holdIs(
  context: Context,
  copy: Copy,
  record: RecordName,
  fields: Payload | undefined,
  exchange = context.wire.last,
): void {
  const what =
    fields === undefined
      ? 'The record is gone.'
      : `The record has the fields ${JSON.stringify(fields).slice(0, 200)}.`
  context.holdUnless(missingIn(copy.get(record), fields), what, exchange)
}
