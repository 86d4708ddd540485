import type { Check } from '../check.ts'
import type { Context, RecordName } from '../context.ts'
import { Copy } from '../copy.ts'
import type { Exchange } from '../exchange.ts'
import { keyOf } from '../messages.ts'

const needs = ['tx', 'token', 'insert'] as const

const writers = 8
const deltaReaders = 3

/** How many records the transactions of a writer insert, one after the other. */
const sizes = [1, 12, 1, 3, 25, 1, 2, 8, 1, 5]

/** The transactions of eight writers, and the deltas and snapshots that readers fetched meanwhile. */
interface Storm {
  readonly txs: readonly {
    readonly sid: number
    readonly records: readonly RecordName[]
    readonly exchange: Exchange
  }[]
  readonly walks: readonly Walk[]
  readonly snapshots: readonly { readonly copy: Copy; readonly exchange: Exchange | undefined }[]
}

/** A copy that followed by deltas all the time, and each of its deltas. */
interface Walk {
  readonly copy: Copy
  readonly deltas: readonly {
    readonly since: number
    readonly sid: number
    readonly keys: ReadonlySet<string>
    readonly exchange: Exchange
  }[]
  /** Whether the server had forgotten the changes in between, so that a snapshot took their place. */
  hasJumped: boolean
}

export const orderChecks: readonly Check[] = [
  {
    name: 'order/no-change-missed',
    title: 'While eight clients write, no delta passes a position whose change it does not have.',
    paragraph: 'Delta',
    rule: 'A response has every change of the caller after `since`, up to its `sid`. So no change may become visible below a `sid` that was sent before.',
    needs,
    async run(context) {
      const { txs, walks } = await storm(context)
      for (const { copy, deltas, hasJumped } of walks) {
        if (hasJumped) continue
        for (const { sid, records } of txs) {
          const missing = records.find((record) => copy.get(record) === undefined)
          if (!missing) continue
          const passing = deltas.find((delta) => delta.since < sid && delta.sid >= sid)
          context.hold(
            false,
            `The delta from ${passing?.since} to ${passing?.sid} has ${missing.t} ${missing.id}, which the transaction at ${sid} inserted.`,
            'It does not, and no later one has it: its position was passed before the change could be seen.',
            passing?.exchange,
          )
        }
      }
      if (walks.every(({ hasJumped }) => hasJumped))
        context.untested('The server forgets changes within a second.')
    },
  },
  {
    name: 'order/whole-transactions',
    title: 'While eight clients write, no delta ends in the middle of a transaction.',
    paragraph: 'Transactions',
    rule: 'A transaction is atomic.',
    needs,
    async run(context) {
      const { txs, walks } = await storm(context)
      for (const { deltas, hasJumped } of walks)
        for (const { records } of hasJumped ? [] : txs) {
          const parts = deltas.filter(({ keys }) => records.some((record) => keys.has(keyOf(record))))
          const whole = parts.filter(({ keys }) => records.every((record) => keys.has(keyOf(record))))
          const [part] = parts.filter((each) => !whole.includes(each))
          context.hold(
            part === undefined,
            `A delta has all ${records.length} changes of a transaction, or none.`,
            part &&
              `It has ${records.filter((record) => part.keys.has(keyOf(record))).length}, and ends at ${part.sid}.`,
            part?.exchange,
          )
        }
    },
  },
  {
    name: 'order/snapshots',
    title: 'While eight clients write, each snapshot has all records up to its position.',
    paragraph: 'Snapshot',
    rule: '`GET /bootstrap` responds with 200, all rows of the caller and the highest `sid` that they contain.',
    needs,
    async run(context) {
      const { txs, snapshots } = await storm(context)
      for (const { copy, exchange } of snapshots)
        for (const { sid, records } of txs) {
          const missing =
            sid <= copy.sid ? records.find((record) => copy.get(record) === undefined) : undefined
          context.hold(
            missing === undefined,
            `A snapshot at ${copy.sid} has the records that were inserted at ${sid}.`,
            missing && `${missing.t} ${missing.id} is not in it: the position was read apart from the rows.`,
            exchange,
          )
        }
    },
  },
  {
    name: 'order/own-sids',
    title: 'Transactions of eight clients have different positions.',
    paragraph: 'The response',
    rule: "Every frame has its own `sid`. A transaction's `sid` is that of its last frame, and the head if it changed nothing.",
    needs,
    async run(context) {
      const { txs } = await storm(context)
      const seen = new Map<number, Exchange>()
      for (const { sid, exchange } of txs) {
        context.hold(!seen.has(sid), 'Each transaction has a `sid` of its own.', `Two have ${sid}.`, exchange)
        seen.set(sid, exchange)
      }
    },
  },
]

function storm(context: Context): Promise<Storm> {
  return context.once('eight writers', () => runStorm(context))
}

async function runStorm(context: Context): Promise<Storm> {
  const first = await context.copy()
  const txs: Storm['txs'][number][] = []
  const walks: Walk[] = []
  const snapshots: Storm['snapshots'][number][] = []
  let isWriting = true
  const write = async (writer: number) => {
    for (const at of sizes.keys()) {
      // Each writer has another order of sizes, so that long and short transactions meet.
      const size = sizes[(at * 3 + writer) % sizes.length] ?? 1
      const records = Array.from({ length: size }, () => context.record())
      const { sid, exchange } = await context.write(records.map((record) => context.insertion(record)))
      txs.push({ sid, records, exchange })
    }
  }
  const walk = async (pauseMs: number) => {
    const copy = first.clone()
    const deltas: Walk['deltas'][number][] = []
    const walk: Walk = { copy, deltas, hasJumped: false }
    walks.push(walk)
    const step = async (to: number) => {
      let since = copy.sid
      let hasDelta = false
      await context.reach(copy, to, 'token', ({ sid, frames = [], rows, exchange }) => {
        hasDelta = true
        deltas.push({ since, sid, keys: new Set([...frames, ...rows].map(keyOf)), exchange })
        since = sid
      })
      if (!hasDelta) walk.hasJumped = true
    }
    while (isWriting) {
      await step(copy.sid)
      await context.pause(pauseMs)
    }
    await step(Math.max(copy.sid, ...txs.map(({ sid }) => sid)))
  }
  const readSnapshots = async () => {
    while (isWriting) {
      const snapshot = await context.snapshot()
      snapshots.push({ copy: Copy.of(snapshot), exchange: snapshot.answer.exchange })
      await context.pause(20)
    }
  }
  const reading = [...Array.from({ length: deltaReaders }, (_, n) => walk(n * 3)), readSnapshots()]
  const writing = Array.from({ length: writers }, (_, n) => write(n))
  await Promise.all([
    Promise.all(writing).finally(() => {
      isWriting = false
    }),
    ...reading,
  ])
  return { txs, walks, snapshots }
}
