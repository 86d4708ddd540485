import { type JsonValue, jsonEqual, type Payload } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, RecordName } from '../context.ts'
import { Copy, missingIn } from '../copy.ts'
import { keyOf } from '../messages.ts'

const needs = ['tx', 'token', 'insert'] as const

/** An application may refuse a field, or an id, that its records cannot have. */
const refusals: ReadonlySet<string> = new Set(['invalid', 'forbidden', 'too_large'])

/** A name for a field that an application is unlikely to have. */
const field = 'conformance'

const texts: JsonValue = [
  '',
  ' ',
  'Übergrößenträger',
  'e\u0301 and \u00e9',
  '漢字かな交じり文',
  'שלום עולם',
  '👩‍👩‍👧‍👦 🏳️‍🌈 𝕏',
  'line\nfeed\ttab\r\n',
  '\u0001\u001f\u007f\u0085',
  '\u2028\u2029\ufeff\ufffd',
  '"quotes" \\ \\n \\u0041 /',
  "'; drop table x; --",
  '</script><!--',
  '$(x) {{x}} %s %00',
]

const numbers: JsonValue = [
  0,
  1,
  -1,
  0.1,
  -0.5,
  1e21,
  1e-7,
  1.7976931348623157e308,
  5e-324,
  2 ** 53 - 1,
  -(2 ** 53 - 1),
  2 ** 31,
  1764547200000,
  123456789.12345679,
]

const others: JsonValue = [
  null,
  true,
  false,
  [],
  {},
  [[]],
  [{}],
  { a: { b: [1, { c: null }] } },
  '1',
  'null',
  'true',
]

const names: Payload = {
  '': 1,
  ' ': 1,
  constructor: 1,
  toString: 1,
  prototype: { constructor: 1 },
  hasOwnProperty: 1,
  'a.b': 1,
  'a b': 1,
  $set: 1,
  ä: 1,
  '👍': 1,
  '0': 1,
  length: 1,
}

const long = 'Lorem ipsum dolor sit amet, ünïcödé 👍. '.repeat(5_000)

const jsonRule = ['The protocol', 'Everything is JSON, in UTF-8.'] as const
const namesRule = [
  'Rows and frames',
  '`constructor`, `toString` and the like are names like any other.',
] as const
const depthRule = [
  'Rows and frames',
  'A row or frame that nests deeper than 500 levels, itself counted, is refused',
] as const

const values: readonly (readonly [
  name: string,
  title: string,
  value: JsonValue,
  rule: readonly [paragraph: string, rule: string],
])[] = [
  [
    'texts',
    'Texts of all scripts, with quotes and control characters, come back as they were.',
    texts,
    jsonRule,
  ],
  ['numbers', 'Numbers come back as they were, from the smallest to the largest.', numbers, jsonRule],
  ['values', 'Lists, objects, `null` and booleans come back as they were.', others, jsonRule],
  ['field-names', 'Fields may have any name, such as `constructor` or an empty one.', names, namesRule],
  ['long-text', 'A text of 200 000 characters comes back as it was.', long, jsonRule],
  ['deep', 'A value that nests 400 levels deep comes back as it was.', deep(400), depthRule],
]

const ids: readonly (readonly [name: string, text: string, make: (id: string) => string])[] = [
  ['spaces', 'spaces', (id) => ` ${id} x `],
  ['signs', 'slashes, quotes and percent signs', (id) => `${id}/../%2F?a=b&c#"'\\;`],
  ['scripts', 'letters of other scripts and emoji', (id) => `${id} é 漢 👍`],
  ['names', 'the name of a method of objects', () => 'constructor'],
  ['long', '255 characters', (id) => id.padEnd(255, 'x')],
]

export const payloadChecks: readonly Check[] = [
  ...values.map(
    ([name, title, value, [paragraph, rule]]): Check => ({
      name: `payloads/${name}`,
      title,
      paragraph,
      rule,
      needs,
      run: (context) => holdKept(context, [context.record({ [field]: value })]),
    }),
  ),
  ...ids.map(
    ([name, text, make]): Check => ({
      name: `payloads/id-with-${name}`,
      title: `An id with ${text} comes back as it was.`,
      paragraph: 'Rows and frames',
      rule: '`t` and `id` together identify a record.',
      needs,
      async run(context) {
        const { p, ...record } = context.record()
        await holdKept(context, [{ ...record, id: make(record.id), p }])
      },
    }),
  ),
  {
    name: 'payloads/ids-that-look-alike',
    title: 'Ids that differ in case, in white space or in how they write a letter are different.',
    paragraph: 'Rows and frames',
    rule: '`t` and `id` together identify a record.',
    needs,
    async run(context) {
      const { p, ...record } = context.record()
      const ids = ['a', 'A', 'a ', 'e\u0301', '\u00e9', '01', '1'].map((end) => `${record.id}${end}`)
      await holdKept(
        context,
        ids.map((id) => ({ ...record, id, p })),
      )
    },
  },
  {
    name: 'payloads/many-records',
    title: 'A transaction of 100 records is carried out as a whole.',
    paragraph: 'Transactions',
    rule: 'A transaction is atomic.',
    needs,
    run: (context) =>
      holdKept(
        context,
        Array.from({ length: 100 }, () => context.record()),
      ),
  },
]

/**
 * Inserts `records`, and compares them in a delta and in a snapshot. An application may refuse fields and ids that it does
 * not know; then it has to do that without a trace.
 */
async function holdKept(
  context: Context,
  records: readonly (RecordName & { readonly p: Payload })[],
): Promise<void> {
  const copy = await context.copy()
  const { sid: before } = copy
  const tx = context.tx(records.map((record) => context.insertion(record)))
  const answer = await context.post({ txs: [tx] })
  if (answer.status === 413)
    return context.untested('The server takes no request of this length: its status is 413.')
  const { results } = context.read(answer, [tx.id])
  const [result] = results
  if (result?.error) {
    const { code } = result.error
    context.hold(
      refusals.has(code),
      'A record whose id is new is accepted, or is no record of this application.',
      `It is ${code}.`,
    )
    await context.holdNoTrace(records, before, 'A refused transaction leaves no trace.')
    return context.untested(`The server refuses it: ${code}.`)
  }
  const sid = result?.sid ?? 0
  await context.reach(copy, sid)
  holdRecords(context, copy, records, 'a delta')
  const snapshot = await context.snapshot()
  const whole = Copy.of(snapshot)
  const { last } = context.wire
  await context.reach(whole, sid)
  holdRecords(context, whole, records, 'a snapshot', last)
  const changed = records.find((record) => !jsonEqual(copy.get(record), whole.get(record)))
  context.hold(
    changed === undefined,
    'Delta and snapshot have the same fields.',
    changed && keyOf(changed),
    last,
  )
}

function holdRecords(
  context: Context,
  copy: Copy,
  records: readonly (RecordName & { readonly p: Payload })[],
  where: string,
  exchange = context.wire.last,
): void {
  for (const record of records)
    context.holdUnless(
      missingIn(copy.get(record), record.p),
      `In ${where}, the record is as it was sent.`,
      exchange,
    )
}

function deep(levels: number): JsonValue {
  let value: JsonValue = 'x'
  for (let n = 0; n < levels; n += 1) value = n % 2 === 0 ? [value] : { a: value }
  return value
}
