import type { Check } from '../check.ts'
import type { Context } from '../context.ts'
import { Copy, differenceOf, missingIn } from '../copy.ts'
import { historyOf } from '../history.ts'
import { readDelta } from '../messages.ts'

const sinceRule = '`since` is an integer ≥ 0, else 400.'

const wrongSince: readonly (readonly [name: string, text: string, query: string])[] = [
  ['missing', 'no `since`', ''],
  ['empty', 'an empty `since`', '?since='],
  ['negative', 'a negative `since`', '?since=-1'],
  ['fraction', 'a `since` with a fraction', '?since=1.5'],
  ['nonsense', 'a `since` that is no number', '?since=1x'],
]

export const snapshotChecks: readonly Check[] = [
  {
    name: 'snapshot/shape',
    title: 'A snapshot has a position and all rows, each once.',
    paragraph: 'Snapshot',
    rule: '`GET /bootstrap` responds with 200, all rows of the caller and the highest `sid` that they contain.',
    needs: ['token'],
    async run(context) {
      await context.snapshot()
    },
  },
  {
    name: 'snapshot/own-writes',
    title: 'A snapshot, and a delta from it, show what was written.',
    paragraph: 'Snapshot',
    rule: 'A snapshot replaces the copy: a record that is not in the snapshot is gone, in the same step as the new position.',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const [kept, gone] = [context.record(), context.record()]
      await context.write([context.insertion(kept), context.insertion(gone)])
      const { sid } = await context.write([context.removal(gone)])
      const copy = await context.copy()
      const { last } = context.wire
      const { sid: at } = copy
      await context.reach(copy, sid)
      context.holdUnless(
        missingIn(copy.get(kept), kept.p),
        'A record that was added is in the snapshot.',
        last,
      )
      if (at >= sid || !copy.hasRows)
        context.holdUnless(missingIn(copy.get(gone), undefined), 'A record that was removed is not.', last)
    },
  },
  {
    name: 'snapshot/agrees-with-deltas',
    title: 'At every position, a snapshot has the records that deltas have led to.',
    paragraph: 'Position',
    rule: 'At a position ≤ 0 the client fetches a snapshot, otherwise a delta with `since`. After either, the position is the `sid` of the response.',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const { steps, keys } = await historyOf(context, true)
      for (const { what, copy, snapshot } of steps) {
        if (!snapshot) continue
        const difference = differenceOf(
          ['the snapshot', snapshot.copy],
          ['the copy made by deltas', copy],
          keys,
        )
        context.holdUnless(difference, `After ${what}, both have the same records.`, snapshot.exchange)
      }
    },
  },
]

export const deltaChecks: readonly Check[] = [
  {
    name: 'delta/shape',
    title: 'A delta from the position of a snapshot has one of the shapes.',
    paragraph: 'Delta',
    rule: '`GET /delta?since=<sid>` responds with 200 in one of these shapes:',
    needs: ['token'],
    async run(context) {
      const { sid } = await context.snapshot()
      await context.delta(sid)
    },
  },
  {
    name: 'delta/at-head',
    title: 'A delta without changes is empty, and its `sid` is that of the request.',
    paragraph: 'Delta',
    rule: '`sid` equals `since` exactly if nothing was committed.',
    needs: ['token'],
    run: holdQuiet,
    phase: 'alone',
  },
  {
    name: 'delta/above-head',
    title: 'A position above the head gets the head, and no changes.',
    paragraph: 'Delta',
    rule: 'The response to a `since` above the head is `{"sid": head, "frames": []}`.',
    needs: ['token'],
    async run(context) {
      const { sid: head } = await context.delta((await context.snapshot()).sid)
      for (const since of [head + 1_000_000, Number.MAX_SAFE_INTEGER]) {
        const { sid, frames = [], rows } = await context.delta(since)
        const expected = `\`sid\` is the head, which is below ${since}.`
        context.hold(sid < since, expected, `It is ${sid}.`)
        context.hold(sid >= head, `\`sid\` is the head, which was ${head} before.`, `It is ${sid}.`)
        context.hold(frames.length + rows.length === 0, 'The delta has no changes.')
      }
    },
  },
  ...wrongSince.map(
    ([name, text, query]): Check => ({
      name: `delta/${name}-since`,
      title: `A delta with ${text} is refused.`,
      paragraph: 'Delta',
      rule: sinceRule,
      needs: ['token'],
      async run(context) {
        const { status } = await context.get(`/delta${query}`)
        context.hold(status === 400, 'The status is 400.', `It is ${status}.`)
      },
    }),
  ),
  {
    name: 'delta/from-zero',
    title: 'A delta from 0 has all changes, or says that they are gone.',
    paragraph: 'Another history',
    rule: "Delta responds with 410 or 409: the changes since the client's position are gone",
    needs: ['token'],
    async run(context) {
      const { canInsert } = context
      const kept = context.record()
      const { sid } = canInsert ? await context.write([context.insertion(kept)]) : { sid: 0 }
      const answer = await context.get('/delta?since=0')
      if (answer.status === 410 || answer.status === 409) return
      const copy = new Copy(0)
      copy.apply(readDelta(answer, 0))
      await context.reach(copy, sid)
      if (canInsert)
        context.holdUnless(missingIn(copy.get(kept), kept.p), 'The delta has every change.', answer.exchange)
    },
  },
  {
    name: 'delta/every-length',
    title: 'Deltas from every earlier position lead to the same records.',
    paragraph: 'Delta',
    rule: 'A response has every change of the caller after `since`, up to its `sid`.',
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const { steps, keys, copy: final } = await historyOf(context, false)
      for (const { copy: earlier, what } of steps) {
        const copy = earlier.clone()
        const { sid } = copy
        await context.reach(copy, final.sid)
        const difference = differenceOf(
          [`a copy from ${sid} on`, copy],
          ['the copy made step by step', final],
          keys,
        )
        context.holdUnless(difference, `A delta from ${sid}, after ${what}, leads to the records of now.`)
      }
    },
  },
  {
    name: 'delta/between-sids',
    title: 'A position in the middle of a transaction gets the rest of it.',
    paragraph: 'The response',
    rule: "Every frame has its own `sid`. A transaction's `sid` is that of its last frame, and the head if it changed nothing.",
    needs: ['tx', 'token', 'insert'],
    async run(context) {
      const records = [context.record(), context.record(), context.record()]
      const { sid } = await context.write(records.map((record) => context.insertion(record)))
      const copy = new Copy(sid - 1)
      await context.reach(copy, sid)
      context.holdUnless(
        missingIn(records.at(-1) && copy.get(records.at(-1) ?? { t: '', id: '' }), records.at(-1)?.p),
        `A delta from ${sid - 1} has the last change of the transaction, which is at ${sid}.`,
      )
    },
  },
]

/** How often it asks in a row, in search of a moment without changes. */
const maxTries = 20

async function holdQuiet(context: Context): Promise<void> {
  // So that there is a change at the head.
  if (context.canInsert) await context.write([context.insertion(context.record())])
  let { sid: since } = await context.snapshot()
  const startAt = context.clock.now()
  const first = since
  for (let n = 0; n < maxTries; n += 1) {
    const { sid, frames = [], rows } = await context.delta(since)
    context.hold(sid >= since, 'The head does not fall.', `It was ${since}, and is ${sid}.`)
    if (sid === since) {
      context.hold(frames.length + rows.length === 0, 'A delta that ends at `since` has no changes.')
      return
    }
    since = sid
  }
  const { last } = context.wire
  // Do others write, or does the server count its own responses? The time that passes tells these apart.
  const [grown, tookMs] = [since - first, Math.max(50, context.clock.now() - startAt)]
  const { sid: before } = await context.delta(since)
  await context.pause(tookMs)
  const { sid: after } = await context.delta(before)
  if ((after - before) * 2 > grown) context.untested('Others write all the time.')
  context.hold(
    false,
    '`sid` equals `since` if nothing was committed.',
    `It grew in ${maxTries} deltas in a row.`,
    last,
  )
}
