import { isObject, readJson } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context } from '../context.ts'

export const extensionChecks: readonly Check[] = [
  {
    name: 'extensions/frames',
    title: 'Deltas have frames, which show removals.',
    paragraph: 'Without the extensions',
    rule: 'a removal that is not pushed while the client is in step is noticed only by the next bootstrap',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const record = context.record()
      const copy = await context.copy()
      const { sid } = await context.write([context.insertion(record)])
      await context.reach(copy, sid)
      if (copy.hasRows) context.leftOut('frames in deltas')
    },
  },
  {
    name: 'extensions/epoch',
    title: 'Snapshots and deltas name the same history.',
    paragraph: 'Another history',
    rule: '`epoch` in bootstrap and delta differ, both being known.',
    needs: ['token'],
    async run(context) {
      const { epoch } = context.offer
      if (epoch === undefined) return context.leftOut('epoch')
      const { sid, json } = await context.snapshot()
      holdText(context, 'epoch', json.epoch, epoch)
      const delta = await context.delta(sid)
      holdText(context, 'epoch', isObject(delta.json) ? delta.json.epoch : undefined, epoch)
      await holdInOthers(context, 'epoch', epoch)
    },
  },
  {
    name: 'extensions/caller',
    title: 'All responses name the same caller, in a snapshot before the rows.',
    paragraph: 'Whose data',
    rule: 'It is a text in the responses of bootstrap, delta and tx, and in the hello, and identifies the user who asks.',
    needs: ['token'],
    async run(context) {
      const { caller } = context.offer
      if (caller === undefined) return context.leftOut('caller')
      const { sid, json } = await context.snapshot()
      holdText(context, 'caller', json.caller, caller)
      const names = Object.keys(json)
      context.hold(names.indexOf('caller') < names.indexOf('rows'), '`caller` comes before `rows`.')
      for (const since of [sid, Number.MAX_SAFE_INTEGER]) {
        const delta = await context.delta(since)
        holdText(context, 'caller', isObject(delta.json) ? delta.json.caller : undefined, caller)
      }
      await holdInOthers(context, 'caller', caller)
    },
  },
  {
    name: 'extensions/other-caller',
    title: 'Another user is another caller.',
    paragraph: 'Whose data',
    rule: 'Another user has another one.',
    needs: ['token', 'other-token'],
    async run(context) {
      const { caller } = context.offer
      if (caller === undefined) return context.leftOut('caller')
      const { json } = await context.snapshot('other-token')
      context.hold(typeof json.caller === 'string', 'The snapshot of the other user has a `caller`.')
      context.hold(json.caller !== caller, 'It is not the `caller` of the first user.')
    },
  },
  {
    name: 'extensions/count',
    title: 'The `count` of a snapshot is the number of its rows.',
    paragraph: 'Snapshot',
    rule: '`count` is the number of rows.',
    needs: ['token'],
    async run(context) {
      const { json, rows } = await context.snapshot()
      const { count } = json
      if (typeof count !== 'number') return context.leftOut('count')
      context.hold(count === rows.length, `\`count\` is ${rows.length}.`, `It is ${count}.`)
    },
  },
  {
    name: 'extensions/lines',
    title: 'In a snapshot with `lines`, each row ends with a line feed.',
    paragraph: 'Snapshot',
    rule: 'a line feed (U+000A) is then at the end of each row, right before the `,` or `]`, and nowhere else.',
    needs: ['token'],
    async run(context) {
      if (context.canInsert)
        await context.write([context.insertion(context.record()), context.insertion(context.record())])
      const { json, rows, answer } = await context.snapshot()
      if (json.lines !== true) return context.leftOut('lines')
      const names = Object.keys(json)
      context.hold(names.indexOf('lines') < names.indexOf('rows'), '`lines` comes before `rows`.')
      const { text } = answer
      const [start = ''] = /^.*?"rows"\s*:\s*\[/s.exec(text) ?? []
      const parts = text.slice(start.length).split('\n')
      // The last part is the end of the array, and of the object.
      const isEnd = /^\]/.test(parts.pop() ?? '')
      const isRow = (part: string, at: number) => isObject(readJson(at === 0 ? part : part.replace(/^,/, '')))
      context.hold(
        rows.length === 0 || (isEnd && parts.length === rows.length && parts.every(isRow)),
        'A line feed ends each row, and is nowhere else.',
      )
    },
  },
]

/** `name` in the hello, and in the response to a transaction, if these are there. */
async function holdInOthers(context: Context, name: 'epoch' | 'caller', value: string): Promise<void> {
  const { offer } = context
  if (offer.hello) {
    const listener = await context.listen()
    const hello = await listener.until(2_000, () => listener.messages[0])
    const found = isObject(hello?.json) && isObject(hello.json.hello) ? hello.json.hello[name] : undefined
    if (found !== undefined) holdText(context, name, found, value, listener.shown(hello))
  }
  if (!context.canInsert) return
  const { json } = await context.decide([context.tx([context.removal(context.record())])])
  if (json[name] !== undefined) holdText(context, name, json[name], value)
}

function holdText(
  context: Context,
  name: string,
  found: unknown,
  value: string,
  exchange = context.wire.last,
): void {
  context.hold(
    found === value,
    `\`${name}\` is "${value}", as in the first snapshot.`,
    `It is ${JSON.stringify(found) ?? 'missing'}.`,
    exchange,
  )
}
