import type { Payload } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, Op, RecordName } from '../context.ts'
import { missingIn } from '../copy.ts'
import { featuresOf } from './transactions.ts'

const needs = ['tx', 'token', 'insert', 'change'] as const
const paragraph = '`was` and `unset`'

/** Ops that take back the effect of an earlier op, and keep changes that others have made since. An undo sends such ops. */
export const undoChecks: readonly Check[] = [
  {
    name: 'undo/was-of-an-update',
    title: 'An update with `was` replaces a field only if it still has that value.',
    paragraph,
    rule: '| `u` with `was: {field: value}` | replaces a field of `p` that `was` names only if the field still has that value, and every other field of `p` |',
    needs,
    async run(context) {
      const { record, change, before } = await changed(context)
      const was = (values: Payload) => [{ ...context.update(record, before), was: values }]
      await context.write(was(swapped(before)))
      await holdFields(context, record, change, 'A field that has another value stays.')
      await context.write(
        was(Object.fromEntries(Object.keys(before).map((name) => [name, change[name] ?? null]))),
      )
      await holdFields(context, record, before, 'A field that still has the value is replaced.')
    },
  },
  {
    name: 'undo/unset',
    title: '`unset` removes a field; one that `was` names only if it still has that value.',
    paragraph,
    rule: '| `u` with `unset: [field]` | removes these fields; one that `was` names only if it still has that value |',
    needs,
    async run(context) {
      const { record, change, added } = await changed(context, await context.extraFields())
      const [field] = added
      if (field === undefined)
        return context.untested(
          '`--change` has no field that `--insert` lacks, so that no field can be removed.',
        )
      const op = (was?: Payload) => [{ ...context.update(record, {}), unset: [field], ...(was && { was }) }]
      await context.write(op({ [field]: 'another value' }))
      await holdFields(context, record, change, 'A field that has another value stays.')
      await context.write(op({ [field]: change[field] ?? null }))
      const copy = await context.copyAt()
      const isThere = Object.hasOwn(copy.get(record) ?? {}, field)
      context.hold(!isThere, `The field \`${field}\` is removed.`)
    },
  },
  {
    name: 'undo/was-of-a-removal',
    title: 'A removal with `was` removes the record only if its fields still have these values.',
    paragraph,
    rule: '| `d` with `was: {field: value}` | removes the record only if all these fields still have these values |',
    needs,
    async run(context) {
      const { record, change } = await changed(context)
      await context.write([{ ...context.removal(record), was: swapped(change) }])
      await holdFields(context, record, change, 'A record with other values stays.')
      await context.write([{ ...context.removal(record), was: change }])
      const copy = await context.copyAt()
      context.holdUnless(
        missingIn(copy.get(record), undefined),
        'A record that still has the values is removed.',
      )
    },
  },
  {
    name: 'undo/whole',
    title: 'A removal with `whole` removes the record only if it has no other field.',
    paragraph,
    rule: '| `d` with `was` and `whole: true` | does so only if the record also has no other field |',
    needs,
    async run(context) {
      const { record, change } = await changed(context)
      const all = (await context.copyAt()).get(record) ?? {}
      const [first = ''] = Object.keys(change)
      const { [first]: _, ...fewer } = all
      await context.write([{ ...context.removal(record), was: fewer, whole: true }])
      await holdFields(context, record, change, 'A record with another field stays.')
      await context.write([{ ...context.removal(record), was: all, whole: true }])
      const copy = await context.copyAt()
      context.holdUnless(missingIn(copy.get(record), undefined), 'A record with no other field is removed.')
    },
  },
  {
    name: 'undo/was-of-an-insertion',
    title: 'An insertion with `was: null` adds the record only if there is none.',
    paragraph,
    rule: '| `i` with `was: null` | adds the record only if there is none |',
    needs,
    async run(context) {
      const { record, change } = await changed(context)
      const op = { ...context.insertion(record), was: null }
      await context.write([op])
      await holdFields(
        context,
        record,
        change,
        'A record that is there stays as it is; there is no `exists`.',
      )
      await context.write([context.removal(record)])
      await context.write([op])
      await holdFields(context, record, record.p, 'A record that is absent is added.')
    },
  },
  {
    name: 'undo/was-without-record',
    title: 'An update or a removal with `was` of an absent record does nothing.',
    paragraph,
    rule: 'If the record is absent, a `u` or `d` with `was` does nothing; there is no `not_found`.',
    needs,
    async run(context) {
      if (!(await hasFeatures(context, 'was'))) return context.leftOut('was in features')
      const record = context.record()
      const { change } = context.run
      const { sid } = await context.snapshot()
      await context.write([{ ...context.update(record), was: change }])
      await context.write([{ ...context.removal(record), was: change }])
      await context.holdNoTrace([record], sid, 'Nothing is changed.')
    },
  },
  {
    name: 'undo/restores',
    title: 'An op with `restores` brings back a removed record as it was.',
    paragraph: '`restores`',
    rule: 'The op adds the record with the fields that it had before that transaction.',
    needs,
    async run(context) {
      if (!(await hasFeatures(context, 'was', 'restores'))) return context.leftOut('restores in features')
      const { record, change } = await changed(context)
      const all = (await context.copyAt()).get(record)
      const { id } = await context.write([context.removal(record)])
      const op = { op: 'i', t: record.t, id: record.id, p: {}, was: null, restores: id }
      await context.write([op])
      await holdFields(context, record, change, 'The record has the fields that it had before its removal.')
      const copy = await context.copyAt()
      context.holdUnless(
        missingIn(copy.get(record), all),
        'The record has all fields that it had before its removal.',
      )
      // Changed since that removal.
      const { sid } = await context.write([context.removal(record)])
      await context.write([op])
      await context.holdNoTrace([record], sid, 'After another removal, nothing is left of the op.')
      const { id: idle } = await context.write([context.removal(record)])
      await context.write([{ ...op, restores: idle }])
      await context.holdNoTrace(
        [record],
        sid,
        'If the transaction removed nothing, nothing is left of the op.',
      )
    },
  },
]

interface Changed {
  readonly record: RecordName & { readonly p: Payload }
  /** The fields of `--change`, as they are now. */
  readonly change: Payload
  /** The same fields before, of those that were there. */
  readonly before: Payload
  /** Those that were not. */
  readonly added: readonly string[]
}

/** A record that was inserted and changed. Leaves the check out if the server does not list `was`. */
async function changed(context: Context, more: Payload = {}): Promise<Changed> {
  if (!(await hasFeatures(context, 'was'))) return context.leftOut('was in features')
  const record = context.record()
  const change = { ...context.run.change, ...more }
  await context.write([context.insertion(record)])
  await context.write([context.update(record, change)])
  const names = Object.keys(change)
  const before = Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(record.p, name) ? [[name, record.p[name] ?? null] as const] : [])),
  )
  if (Object.keys(before).length === 0)
    context.untested('`--change` has no field of `--insert`, so that no value can be put back.')
  return { record, change, before, added: names.filter((name) => !Object.hasOwn(record.p, name)) }
}

/** Other values for the same fields. */
function swapped(fields: Payload): Payload {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, 'another value']))
}

async function holdFields(
  context: Context,
  record: RecordName,
  fields: Payload,
  expected: string,
): Promise<void> {
  const { last } = context.wire
  const copy = await context.copyAt()
  context.holdUnless(missingIn(copy.get(record), fields), expected, last)
}

async function hasFeatures(context: Context, ...wanted: readonly string[]): Promise<boolean> {
  const features = await context.once('features', async () => {
    const { hello } = context.offer
    if (hello && hello.features.length > 0) return hello.features
    const op: Op = context.removal(context.record())
    const { json } = await context.decide([context.tx([op])])
    return featuresOf(json.features) ?? []
  })
  return wanted.every((feature) => features.includes(feature))
}
