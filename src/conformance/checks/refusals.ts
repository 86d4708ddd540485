import type { Check } from '../check.ts'
import type { Context, Op, RecordName } from '../context.ts'
import { holdRefused } from './transactions.ts'

const needs = ['tx', 'token', 'insert'] as const

const opRule = 'Anything wrong inside an op rejects its transaction alone, with `invalid`'

type Made = RecordName & { readonly p: Readonly<Record<string, unknown>> }

/** An op that is wrong, made of one that is right. The result is the op, or its JSON if no value has it. */
const wrongOps: readonly (readonly [
  name: string,
  text: string,
  make: (op: Op, record: Made) => Op | string,
])[] = [
  ['unknown-op', 'an unknown `op`', (op) => ({ ...op, op: 'x' })],
  ['missing-type', 'no type', ({ op, id, p }) => ({ op, id, p })],
  ['missing-id', 'no id', ({ op, t, p }) => ({ op, t, p })],
  ['numeric-id', 'a number as its id', (op) => ({ ...op, id: 7 })],
  ['fields-no-object', 'fields that are no object', (op) => ({ ...op, p: ['x'] })],
  ['proto-id', '`__proto__` as its id', (op) => ({ ...op, id: '__proto__' })],
  ['proto-type', '`__proto__` as its type', (op) => ({ ...op, t: '__proto__' })],
  ['proto-field', 'a field `__proto__`', (op) => jsonWith(op, '"__proto__":{"x":1}')],
  ['nul-in-id', 'a NUL in its id', (op, { id }) => ({ ...op, id: `${id}\0` })],
  ['half-pair', 'half of a surrogate pair in a field', (op) => jsonWith(op, '"x":"\\ud800"')],
  ['nul-in-field', 'a NUL in a field', (op) => jsonWith(op, '"x":"\\u0000"')],
  ['long-id', 'an id of more than 255 characters', (op, { id }) => ({ ...op, id: id.padEnd(256, 'x') })],
  ['huge-number', "a number beyond a double's range", (op) => jsonWith(op, '"x":1e400')],
  [
    'deep-field',
    'fields that nest deeper than 500 levels',
    (op) => jsonWith(op, `"x":${'['.repeat(500)}${']'.repeat(500)}`),
  ],
]

const wrongBodies: readonly (readonly [name: string, text: string, make: (context: Context) => unknown])[] = [
  ['no-json', 'that is not JSON', () => '{"txs":['],
  ['no-transactions', 'without transactions', () => ({ txs: [] })],
  ['no-list', 'whose `txs` is no list', () => ({ txs: {} })],
  ['no-id', 'with a transaction without an id', (context) => ({ txs: [without('id', context)] })],
  ['no-since', 'with a transaction without `since`', (context) => ({ txs: [without('since', context)] })],
  [
    'no-ops',
    'with a transaction without ops',
    (context) => ({ txs: [{ ...without('ops', context), ops: [] }] }),
  ],
]

export const refusalChecks: readonly Check[] = [
  ...wrongBodies.map(
    ([name, text, make]): Check => ({
      name: `refusals/${name}`,
      title: `A body ${text} is a 400.`,
      paragraph: 'The request',
      rule: 'The response to a malformed body is 400, to a body that is too large or holds too much 413.',
      needs,
      async run(context) {
        const { status } = await context.post(make(context))
        context.hold(status === 400, 'The status is 400.', `It is ${status}.`)
      },
    }),
  ),
  ...wrongOps.map(
    ([name, text, make]): Check => ({
      name: `refusals/${name}`,
      title: `An op with ${text} is \`invalid\`, and leaves no trace.`,
      paragraph: 'The request',
      rule: opRule,
      needs,
      phase: 'last',
      run: (context) => holdInvalid(context, make),
    }),
  ),
  {
    name: 'refusals/exists',
    title: 'An insertion of a record that is there is `exists`, and changes nothing.',
    paragraph: 'Ops',
    rule: "| `i` | applied; a foreign owner's id: `exists`, and no more is revealed | `exists` |",
    needs,
    async run(context) {
      const record = context.record()
      const { sid } = await context.write([context.insertion(record)])
      const result = await context.result(context.tx([context.insertion(record)]))
      holdRefused(context, result, 'exists', 'It is `exists`.')
      await holdUnchanged(context, record, sid)
    },
  },
  {
    name: 'refusals/not-found',
    title: 'An update of a record that is not there is `not_found`, and changes nothing.',
    paragraph: 'Ops',
    rule: '| `u` | `not_found` | fields merged; the frame is an `i` if `unset` removed one |',
    needs: [...needs, 'change'],
    async run(context) {
      const record = context.record()
      const { sid } = await context.snapshot()
      const result = await context.result(context.tx([context.update(record)]))
      holdRefused(context, result, 'not_found', 'It is `not_found`.')
      await context.holdNoTrace([record], sid, 'Nothing is added.')
    },
  },
]

async function holdInvalid(context: Context, make: (op: Op, record: Made) => Op | string): Promise<void> {
  const [record, second, other] = [context.record(), context.record(), context.record()]
  const sid = await context.position()
  const op = make(context.insertion(record), record)
  // A right op before the wrong one, and a right transaction after it.
  const wrong = context.tx([context.insertion(second), 'the wrong op' as unknown as Op])
  const right = context.tx([context.insertion(other)])
  const body = JSON.stringify({ txs: [wrong, right] })
  const parsed: unknown = typeof op === 'string' ? record : op
  const noted = [parsed, record, second, other]
  context.note({ txs: [{ ops: noted }] }, 'token')
  const text = body.replace('"the wrong op"', () => (typeof op === 'string' ? op : JSON.stringify(op)))
  const { results, answer } = await context.resultsOf(text, [wrong.id, right.id])
  holdRefused(context, results[0], 'invalid', 'The transaction is `invalid`.')
  context.hold(
    results[1]?.sid !== undefined,
    'The other transaction of the request is accepted.',
    `It is ${results[1]?.error?.code}.`,
  )
  await context.holdNoTrace([record, second], sid, 'Nothing of the refused transaction is carried out.')
  context.wire.last = answer.exchange
}

/** The record is as it was at `sid`, and has no change after that. */
async function holdUnchanged(context: Context, record: Made, sid: number): Promise<void> {
  const { frames = [], rows } = await context.delta(sid)
  const change = [...frames, ...rows].find(({ t, id }) => t === record.t && id === record.id)
  context.hold(
    change === undefined,
    'A refused transaction changes nothing.',
    `A delta has ${JSON.stringify(change)}.`,
  )
}

/** The JSON of an op with another field, which is already JSON. */
function jsonWith(op: Op, field: string): string {
  const { p, ...rest } = op
  const fields = JSON.stringify(p).slice(1, -1)
  return `${JSON.stringify(rest).slice(0, -1)},"p":{${fields}${fields === '' ? '' : ','}${field}}}`
}

function without(name: 'id' | 'since' | 'ops', context: Context): Readonly<Record<string, unknown>> {
  const { [name]: _, ...rest } = context.tx([context.insertion(context.record())])
  return rest
}
