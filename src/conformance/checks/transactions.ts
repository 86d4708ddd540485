import { isObject } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, Op, RecordName, Tx } from '../context.ts'
import type { Copy } from '../copy.ts'
import { type Frame, keyOf, type Result } from '../messages.ts'

const idRule = 'the same id again gets the first verdict again.'
const needs = ['tx', 'token', 'insert'] as const

/** How many times the same transaction is sent at once. */
const atOnce = 8

/** When connections are cut, in ms after the request was sent. */
const cutsAfterMs = [0, 0, 1, 3, 10]

export const transactionChecks: readonly Check[] = [
  {
    name: 'transactions/result',
    title: 'Each transaction of a request has its result, in their order.',
    paragraph: 'The response',
    rule: 'Results come in the order of the transactions, which are decided one after the other.',
    needs,
    async run(context) {
      const record = context.record()
      const [first, refused, last] = [
        context.tx([context.insertion(record)]),
        context.tx([context.insertion(record)]),
        context.tx([context.removal(record)]),
      ]
      const { results } = await context.decide([first, refused, last])
      holdAccepted(context, results[0], 'The insertion is accepted.')
      holdRefused(context, results[1], 'exists', 'The second insertion of the same record is `exists`.')
      holdAccepted(context, results[2], 'A refused transaction does not stop the next one.')
    },
  },
  {
    name: 'transactions/sid',
    title: "A transaction's `sid` is that of its last change, and each change has its own.",
    paragraph: 'The response',
    rule: "Every frame has its own `sid`. A transaction's `sid` is that of its last frame, and the head if it changed nothing.",
    needs,
    async run(context) {
      const records = [context.record(), context.record(), context.record()]
      const before = await context.copy()
      const { sid, exchange } = await context.write(records.map((record) => context.insertion(record)))
      const frames = await framesOf(context, before, sid, records)
      if (!frames) return context.leftOut('frames in deltas')
      const sids = frames.map((frame) => frame.sid)
      context.hold(
        new Set(sids).size === records.length,
        'Each of three changes has its own `sid`.',
        `They have ${sids.join(', ')}.`,
      )
      context.hold(
        sids.at(-1) === sid,
        `The last change is at the \`sid\` of the result, ${sid}.`,
        `It is at ${sids.at(-1)}.`,
        exchange,
      )
    },
  },
  {
    name: 'transactions/tx-in-frames',
    title: 'Every frame of a transaction names it.',
    paragraph: 'The response',
    rule: '`tx` says that every frame of a transaction names it, so that a transaction without frames has changed nothing.',
    needs,
    async run(context) {
      const records = [context.record(), context.record()]
      const before = await context.copy()
      const tx = context.tx(records.map((record) => context.insertion(record)))
      const { results, json } = await context.decide([tx])
      const sid = holdAccepted(context, results[0], 'The transaction is accepted.')
      const frames = await framesOf(context, before, sid, records)
      const features = featuresOf(json.features) ?? context.offer.hello?.features ?? []
      if (!frames) return context.leftOut('frames in deltas')
      if (frames.every((frame) => frame.tx === undefined) && !features.includes('tx'))
        context.leftOut('tx in frames')
      const other = frames.find((frame) => frame.tx !== tx.id)
      context.hold(
        other === undefined,
        `Each frame of the transaction has \`tx\`: "${tx.id}".`,
        `One has ${JSON.stringify(other?.tx) ?? 'none'}.`,
      )
    },
  },
  {
    name: 'transactions/whole-or-not',
    title: 'If one op of a transaction is refused, none is carried out.',
    paragraph: 'Transactions',
    rule: 'A transaction is atomic.',
    needs,
    async run(context) {
      const [present, first, last] = [context.record(), context.record(), context.record()]
      await context.write([context.insertion(present)])
      const { sid } = await context.snapshot()
      const ops = [first, present, last].map((record) => context.insertion(record))
      const result = await context.result(context.tx(ops))
      holdRefused(context, result, 'exists', 'A transaction that inserts a record that is there is `exists`.')
      await context.holdNoTrace([first, last], sid, 'Nothing of a refused transaction is carried out.')
    },
  },
  {
    name: 'transactions/same-id-again',
    title: 'A transaction that is sent again gets its first verdict, and is not carried out again.',
    paragraph: 'Transactions',
    rule: idRule,
    needs,
    async run(context) {
      const record = context.record()
      const copy = await context.copy()
      const tx = context.tx([context.insertion(record)])
      const first = await context.result(tx)
      const sid = holdAccepted(context, first, 'The transaction is accepted.')
      const second = await context.result({ ...tx, since: sid })
      holdSame(context, second, sid)
      await context.write([context.removal(record)])
      holdSame(context, await context.result(tx), sid)
      const { sid: head } = await context.write([context.insertion(context.record())])
      const frames = await framesOf(context, copy, head, [record])
      const insertions = frames?.filter(({ op }) => op === 'i').length ?? 0
      context.hold(insertions <= 1, 'The record was inserted once.', `There are ${insertions} insertions.`)
      const now = await context.copyAt(head)
      if (!now.hasRows)
        context.hold(
          now.get(record) === undefined,
          'The record, which was removed since, is not there again.',
        )
    },
  },
  {
    name: 'transactions/same-id-at-once',
    title: 'A transaction that is sent eight times at once is carried out once.',
    paragraph: 'Transactions',
    rule: idRule,
    needs,
    async run(context) {
      const record = context.record()
      const copy = await context.copy()
      const tx = context.tx([context.insertion(record)])
      const results = await Promise.all(Array.from({ length: atOnce }, () => context.result(tx)))
      const sids = results.map((result) => result.sid)
      const wrong = results.find((result) => result.sid === undefined || result.sid !== results[0]?.sid)
      context.hold(
        wrong === undefined,
        'All requests get the same verdict.',
        `They get ${results.map(({ sid, error }) => sid ?? error?.code).join(', ')}.`,
        wrong?.exchange,
      )
      const frames = await framesOf(context, copy, sids[0] ?? 0, [record])
      if (frames) context.hold(frames.length === 1, 'There is one change.', `There are ${frames.length}.`)
    },
  },
  {
    name: 'transactions/same-id-in-one-request',
    title: 'A transaction that is twice in one request is carried out once.',
    paragraph: 'Transactions',
    rule: idRule,
    needs,
    async run(context) {
      const tx = context.tx([context.insertion(context.record())])
      const { results } = await context.decide([tx, tx])
      const sid = holdAccepted(context, results[0], 'The transaction is accepted.')
      holdSame(context, results[1], sid)
    },
  },
  {
    name: 'transactions/refused-again',
    title: 'A refused transaction stays refused, even if it could be carried out later.',
    paragraph: 'Repeated transactions',
    rule: 'Verdicts, including rejections, outlive the log.',
    needs,
    async run(context) {
      const record = context.record()
      const tx = context.tx([context.insertion(record)])
      await context.write([context.insertion(record)])
      holdRefused(
        context,
        await context.result(tx),
        'exists',
        'An insertion of a record that is there is `exists`.',
      )
      const { sid } = await context.write([context.removal(record)])
      holdRefused(
        context,
        await context.result(tx),
        'exists',
        'The same transaction is `exists` again, although the record is gone now.',
      )
      await context.holdNoTrace([], sid, 'Nothing is carried out.')
    },
  },
  {
    name: 'transactions/other-body',
    title: 'The same id with another body is `id_reused`, and changes nothing.',
    paragraph: 'Repeated transactions',
    rule: 'The same `id` with another body gets `id_reused`.',
    needs,
    async run(context) {
      const [record, other] = [context.record(), context.record()]
      const tx = context.tx([context.insertion(record)])
      const sid = holdAccepted(context, await context.result(tx), 'The transaction is accepted.')
      const again = { ...tx, ops: [context.insertion(other)] }
      holdRefused(
        context,
        await context.result(again),
        'id_reused',
        'The same id with another body is `id_reused`.',
      )
      await context.holdNoTrace([other], sid, 'The second body changes nothing.')
      holdSame(context, await context.result(tx), sid)
    },
  },
  {
    name: 'transactions/order-of-keys',
    title: 'The same transaction with its keys in another order is the same.',
    paragraph: 'Repeated transactions',
    rule: 'The body is `ops` and `requires`, in whatever order their keys come.',
    needs,
    async run(context) {
      const record = context.record({})
      const tx = context.tx([context.insertion(record)])
      const sid = holdAccepted(context, await context.result(tx), 'The transaction is accepted.')
      const p = Object.fromEntries(Object.entries(record.p).reverse())
      const again = { ops: [{ p, id: record.id, t: record.t, op: 'i' }], since: sid, id: tx.id }
      holdSame(context, await context.result(again), sid)
    },
  },
  {
    name: 'transactions/first-verdict-in-id-reused',
    title: 'The `details` of `id_reused` are the verdict on the first body.',
    paragraph: 'Repeated transactions',
    rule: 'The `details` of `id_reused` carry the verdict on the first body: `{"sid": 107}` if it was accepted',
    needs,
    async run(context) {
      const tx = context.tx([context.insertion(context.record())])
      const sid = holdAccepted(context, await context.result(tx), 'The transaction is accepted.')
      const { error } = await context.result({ ...tx, ops: [context.insertion(context.record())] })
      if (error?.code !== 'id_reused')
        return context.untested('The same id with another body is not `id_reused`.')
      if (!isObject(error.details)) return context.leftOut('details of id_reused')
      context.hold(
        error.details.sid === sid,
        `\`details\` is {"sid": ${sid}}.`,
        `It is ${JSON.stringify(error.details)}.`,
      )
    },
  },
  {
    name: 'transactions/cut-off',
    title: 'A transaction whose answer was cut off is carried out once, when it is sent again.',
    paragraph: 'Transactions',
    rule: idRule,
    needs,
    async run(context) {
      const copy = await context.copy()
      const records: RecordName[] = []
      let head = 0
      for (const afterMs of cutsAfterMs) {
        const record = context.record()
        records.push(record)
        const body = { txs: [context.tx([context.insertion(record)])] }
        context.note(body, 'token')
        await context.wire.cut({ path: '/tx', body: JSON.stringify(body) }, afterMs)
        const [tx] = body.txs
        const result = tx && (await context.result(tx))
        context.hold(
          result?.error === undefined,
          'Sent again, the transaction is accepted: either it was carried out, or it is now.',
          `It is ${result?.error?.code}.`,
        )
        head = Math.max(head, result?.sid ?? 0)
      }
      const frames = await framesOf(context, copy, head, records)
      if (!frames) return
      for (const record of records) {
        const { length } = frames.filter((frame) => keyOf(frame) === keyOf(record))
        context.hold(
          length === 1,
          'Each transaction was carried out once.',
          `There are ${length} changes of ${record.t} ${record.id}.`,
        )
      }
    },
  },
  {
    name: 'transactions/requires',
    title: 'A transaction that requires a refused one is refused, too.',
    paragraph: 'Repeated transactions',
    rule: 'A rejected transaction does not stop others, except those that name it in `requires`: they get `dependency_rejected`.',
    needs,
    async run(context) {
      const [record, dependent] = [context.record(), context.record()]
      const accepted = context.tx([context.insertion(record)])
      const refused = context.tx([context.insertion(record)])
      const third = context.tx([context.insertion(dependent)], { requires: [refused.id] })
      const fourth = context.tx([context.insertion(context.record())], { requires: [accepted.id] })
      const { sid } = await context.snapshot()
      const { results, answer } = await context.decide([accepted, refused, third, fourth])
      holdAccepted(context, results[0], 'The first transaction is accepted.')
      holdRefused(
        context,
        results[2],
        'dependency_rejected',
        'A transaction that requires a refused one is `dependency_rejected`.',
      )
      holdAccepted(context, results[3], 'A transaction that requires an accepted one is accepted.')
      await context.holdNoTrace([dependent], sid, 'Nothing of it is carried out.')
      context.wire.last = answer.exchange
    },
  },
  {
    name: 'transactions/requires-unknown',
    title: 'A transaction that requires an unknown one is refused.',
    paragraph: 'Repeated transactions',
    rule: 'So does a transaction that names an id which this caller has not sent yet.',
    needs,
    async run(context) {
      const tx = context.tx([context.insertion(context.record())], { requires: [context.run.ids.next()] })
      holdRefused(context, await context.result(tx), 'dependency_rejected', 'It is `dependency_rejected`.')
    },
  },
  {
    name: 'transactions/no-change',
    title: 'A removal of a record that is not there is accepted, and is no change.',
    paragraph: 'Ops',
    rule: '| `d` | nothing, no frame | removed |',
    needs,
    async run(context) {
      const record = context.record()
      const copy = await context.copy()
      const { sid } = await context.write([context.removal(record)])
      const { sid: later } = await context.write([context.insertion(context.record())])
      context.hold(sid < later, 'The `sid` of the result is the head, below that of the next change.')
      const frames = await framesOf(context, copy, later, [record])
      context.hold((frames ?? []).length === 0, 'There is no frame for it.')
    },
  },
  {
    name: 'transactions/condition',
    title: 'An op on a record that has changed since then is a `conflict`.',
    paragraph: 'Conditions',
    rule: '`unchangedSince: n` fails with `conflict` if the record changed after `n`.',
    needs: [...needs, 'change'],
    async run(context) {
      const record = context.record()
      const { sid } = await context.write([context.insertion(record)])
      const conditional = (unchangedSince: number) => [{ ...context.update(record), unchangedSince }]
      const changed = await accepted(context, conditional(sid), sid)
      const late = await context.result(context.tx(conditional(sid)))
      holdRefused(
        context,
        late,
        'conflict',
        `The record changed at ${changed}, after ${sid}, which is a \`conflict\`.`,
      )
      await accepted(context, conditional(changed), changed)
    },
  },
  {
    name: 'transactions/condition-on-a-removal',
    title: 'An insertion of a record that was removed since then is a `conflict`.',
    paragraph: 'Conditions',
    rule: 'A removal is a change too. An `i` for a record that was there at `n` and is gone fails with `conflict`.',
    needs,
    async run(context) {
      const record = context.record()
      const { sid } = await context.write([context.insertion(record)])
      await context.write([context.removal(record)])
      const result = await context.result(context.tx([{ ...context.insertion(record), unchangedSince: sid }]))
      holdRefused(context, result, 'conflict', 'The insertion is a `conflict`.')
    },
  },
  {
    name: 'transactions/condition-own-changes',
    title: 'Changes of transactions that `bases` names are no conflict.',
    paragraph: 'Conditions',
    rule: "Changes by the caller's transactions that are named in `bases` do not count, nor do earlier ops of the same transaction.",
    needs: [...needs, 'change'],
    async run(context) {
      const record = context.record()
      const { sid } = await context.write([context.insertion(record)])
      const op = { ...context.update(record), unchangedSince: sid }
      const { id } = await context.write([context.update(record)])
      await accepted(context, [op, op], sid, { bases: [id] })
    },
  },
]

/** The frames of `records` after `copy`, in order; `undefined` if the deltas have rows. Brings `copy` to `sid`. */
async function framesOf(
  context: Context,
  copy: Copy,
  sid: number,
  records: readonly RecordName[],
): Promise<readonly Frame[] | undefined> {
  const keys = new Set(records.map(keyOf))
  const frames: Frame[] = []
  await context.reach(copy, sid, 'token', (delta) => frames.push(...(delta.frames ?? [])))
  if (copy.hasJumped) context.untested('The server forgets changes while the check runs.')
  return copy.hasRows ? undefined : frames.filter((frame) => keys.has(keyOf(frame)))
}

/** Sends a transaction with a condition that is met. A server that has forgotten the changes since then cannot know that. */
async function accepted(
  context: Context,
  ops: readonly Op[],
  since: number,
  more: Partial<Tx> = {},
): Promise<number> {
  const result = await context.result(context.tx(ops, more))
  if (result.error?.code === 'conflict') {
    const { status } = await context.get(`/delta?since=${since}`)
    if (status === 410 || status === 409) context.untested('The server forgets changes while the check runs.')
  }
  context.wire.last = result.exchange
  return holdAccepted(context, result, 'The transaction is accepted, since its condition is met.')
}

/** The `sid` of an accepted transaction. */
function holdAccepted(context: Context, result: Result | undefined, expected: string): number {
  context.hold(result?.sid !== undefined, expected, `It is ${result?.error?.code}.`)
  return result?.sid ?? 0
}

export function holdRefused(
  context: Context,
  result: Result | undefined,
  code: string,
  expected: string,
): void {
  const found = result?.error === undefined ? 'It is accepted.' : `It is ${result.error.code}.`
  context.hold(result?.error?.code === code, expected, found)
}

function holdSame(context: Context, result: Result | undefined, sid: number): void {
  const found = result?.error === undefined ? `It is ${result?.sid}.` : `It is ${result.error.code}.`
  context.hold(result?.sid === sid, `The verdict is the first one, with the \`sid\` ${sid}.`, found)
}

export function featuresOf(features: unknown): readonly string[] | undefined {
  return Array.isArray(features) ? features.filter((feature) => typeof feature === 'string') : undefined
}
