import { isObject, jsonEqual } from '../../protocol/json.ts'
import type { Check } from '../check.ts'
import type { Context, Op, RecordName } from '../context.ts'
import type { Copy } from '../copy.ts'
import type { Listener, Message } from '../listener.ts'
import { type Delta, type Frame, keyOf, readPush } from '../messages.ts'

const needs = ['ws', 'tx', 'token', 'insert'] as const

/** How long a push may take, in ms. */
const pushMs = 5_000

/** How long after the last expected push nothing else may come, in ms. */
const restMs = 300

/** How much later than announced a heartbeat may come, in ms. */
const lateMs = 2_000

export const pushChecks: readonly Check[] = [
  {
    name: 'pushes/text',
    title: 'Messages are text, and JSON.',
    paragraph: 'Pushes',
    rule: 'A message on the socket is text: a frame, an array of frames, or a delta of any shape. It follows the rules of a delta.',
    needs,
    async run(context) {
      const { listener } = await burst(context)
      for (const message of listener.messages) {
        const exchange = listener.shown(message)
        context.hold(message.text !== undefined, 'A message is text, not binary.', undefined, exchange)
        context.hold(message.json !== undefined, 'A message is JSON.', undefined, exchange)
        readPush(message.json, exchange)
      }
    },
  },
  {
    name: 'pushes/arrive',
    title: 'Changes are pushed to an open socket.',
    paragraph: 'Pushes',
    rule: 'A message on the socket is text: a frame, an array of frames, or a delta of any shape. It follows the rules of a delta.',
    needs,
    async run(context) {
      const { listener, pushes, records } = await burst(context)
      const keys = new Set(records.map(keyOf))
      const isOwn = pushes.some(({ delta }) => changesIn(delta).some((each) => keys.has(keyOf(each))))
      // A push may be only a position or a hint, after which the client fetches a delta.
      const isHint = listener.messages.some(
        ({ json }) => json !== undefined && !isHello(json) && !isHeartbeat(json),
      )
      context.hold(
        isOwn || isHint,
        `At least one of several changes is pushed within ${pushMs / 1_000} s.`,
        undefined,
        listener.shown(undefined),
      )
    },
  },
  {
    name: 'pushes/what-the-log-says',
    title: 'What is pushed is what a delta has: the same changes at the same positions.',
    paragraph: 'Pushes',
    rule: 'A message on the socket is text: a frame, an array of frames, or a delta of any shape. It follows the rules of a delta.',
    needs,
    async run(context) {
      const { listener, pushes, frames, records, copy } = await burst(context)
      const keys = new Set(records.map(keyOf))
      const logged = new Map(frames.map((frame) => [`${frame.sid} ${keyOf(frame)}`, frame]))
      for (const { delta, message } of pushes)
        for (const frame of delta.frames ?? []) {
          if (!keys.has(keyOf(frame))) continue
          const inLog = logged.get(`${frame.sid} ${keyOf(frame)}`)
          // A delta may leave out a frame that a later one replaces.
          if (copy.hasRows || (!inLog && frames.some((each) => isLaterWhole(each, frame)))) continue
          const exchange = listener.shown(message)
          context.hold(
            inLog !== undefined,
            `A delta has the change that is pushed at ${frame.sid}.`,
            'No delta has it.',
            exchange,
          )
          const isSame = inLog?.op === frame.op && jsonEqual(inLog.p, frame.p)
          context.hold(
            isSame,
            `The change at ${frame.sid} is pushed as a delta has it: ${JSON.stringify(inLog)}.`,
            undefined,
            exchange,
          )
        }
    },
  },
  {
    name: 'pushes/whole-transactions',
    title: 'The changes of a transaction are pushed in one message.',
    paragraph: 'The response',
    rule: 'Its frames are pushed in one message.',
    needs,
    async run(context) {
      const { listener, pushes, pair } = await burst(context)
      const keys = pair.map(keyOf)
      for (const { delta, message } of pushes) {
        const there = new Set(changesIn(delta).map(keyOf))
        const some = keys.filter((key) => there.has(key)).length
        context.hold(
          some === 0 || some === keys.length,
          `A message has all ${keys.length} changes of the transaction, or none.`,
          `It has ${some}.`,
          listener.shown(message),
        )
      }
    },
  },
  {
    name: 'pushes/refused',
    title: 'A refused transaction is not pushed.',
    paragraph: 'Transactions',
    rule: 'A transaction is atomic.',
    needs,
    async run(context) {
      const [present, never] = [context.record(), context.record()]
      await context.write([context.insertion(present)])
      const listener = await context.listen()
      await context.result(context.tx([context.insertion(never), context.insertion(present)]))
      await context.pause(restMs)
      const message = listener.messages.find(({ text }) => text?.includes(JSON.stringify(never.id)))
      context.hold(message === undefined, 'Nothing of it is pushed.', undefined, listener.shown(message))
    },
  },
  {
    name: 'pushes/since',
    title: 'A push with `since` has all changes between `since` and its `sid`.',
    paragraph: 'Pushes',
    rule: '`since` (extension) on any of them says: this is everything of yours between `since` and `sid`.',
    needs,
    async run(context) {
      const { listener, pushes, frames, records } = await burst(context)
      const keys = new Set(records.map(keyOf))
      const own = frames.filter((frame) => keys.has(keyOf(frame)))
      if (pushes.every(({ delta }) => delta.since === undefined)) context.leftOut('since in pushes')
      for (const { delta, message } of pushes) {
        const { since, sid } = delta
        if (since === undefined) continue
        const exchange = listener.shown(message)
        context.hold(since <= sid, '`since` is not above `sid`.', undefined, exchange)
        const there = new Set(changesIn(delta).map(keyOf))
        const missing = own.find((frame) => frame.sid > since && frame.sid <= sid && !there.has(keyOf(frame)))
        context.hold(
          missing === undefined,
          `A push from ${since} to ${sid} has the change at ${missing?.sid}.`,
          'It does not, so that a client would miss it.',
          exchange,
        )
      }
    },
  },
  {
    name: 'pushes/hello',
    title: 'Every change above the position of the hello is pushed on the socket.',
    paragraph: 'Pushes',
    rule: 'The service subscribes before it sends the hello: every visible change above `hello.sid` will be pushed on this socket.',
    needs,
    run: holdHello,
  },
  {
    name: 'pushes/heartbeat',
    title: 'A heartbeat comes as often as the hello says.',
    paragraph: 'Pushes',
    rule: 'The heartbeat is a push without frames, at least every `heartbeatMs`.',
    needs: ['ws', 'token'],
    limitMs: ({ offer }) => 2 * (offer.hello?.heartbeatMs ?? 0) + lateMs,
    run: holdHeartbeat,
  },
]

interface Push {
  readonly message: Message
  readonly delta: Delta
}

interface Burst {
  readonly listener: Listener
  /** The messages of the listener that have changes. */
  readonly pushes: readonly Push[]
  /** The frames of the deltas that were fetched meanwhile. */
  readonly frames: readonly Frame[]
  readonly records: readonly RecordName[]
  /** Those that one transaction inserted. */
  readonly pair: readonly RecordName[]
  readonly copy: Copy
}

/** Writes several changes while a socket is open. Several checks look at what came. */
function burst(context: Context): Promise<Burst> {
  return context.once('pushes', async () => {
    const [a, b, c] = [context.record(), context.record(), context.record()]
    const copy = await context.copy()
    const listener = await context.listen()
    const hasChange = Object.keys(context.run.change).length > 0
    const writes: readonly (readonly Op[])[] = [
      [context.insertion(a)],
      ...(hasChange ? [[context.update(a)]] : []),
      [context.insertion(b), context.insertion(c)],
      [context.removal(a)],
    ]
    const frames: Frame[] = []
    for (const ops of writes) {
      const { sid } = await context.write(ops)
      await context.reach(copy, sid, 'token', (delta) => frames.push(...(delta.frames ?? [])))
    }
    await listener.until(pushMs, () => (reaches(listener, copy.sid) ? true : undefined))
    await context.pause(restMs)
    return { listener, pushes: pushesOf(listener), frames, records: [a, b, c], pair: [b, c], copy }
  })
}

/** The messages with changes. Leaves out those that are wrong: one check is about them. */
function pushesOf(listener: Listener): readonly Push[] {
  return messagesOf(listener).flatMap((message) => {
    try {
      const delta = readPush(message.json, listener.shown(message))
      return delta ? [{ message, delta }] : []
    } catch {
      return []
    }
  })
}

function changesIn({ frames = [], rows }: Delta): readonly RecordName[] {
  return [...frames, ...rows]
}

/** The messages that are no hello and no hint. */
function messagesOf(listener: Listener): readonly Message[] {
  return listener.messages.filter((message) => isPush(message.json))
}

function isPush(json: unknown): boolean {
  return Array.isArray(json) || (isObject(json) && ['op', 'frames', 'rows', 't'].some((name) => name in json))
}

function isHello(json: unknown): boolean {
  return isObject(json) && isObject(json.hello)
}

function isHeartbeat(json: unknown): boolean {
  return isObject(json) && Array.isArray(json.frames) && json.frames.length === 0
}

function reaches(listener: Listener, sid: number): boolean {
  return messagesOf(listener).some(({ json }) => {
    const last = Array.isArray(json) ? json.at(-1) : json
    return isObject(last) && typeof last.sid === 'number' && last.sid >= sid
  })
}

/** Whether `frame` replaces what `earlier` did, so that a delta may leave `earlier` out. */
function isLaterWhole(frame: Frame, earlier: Frame): boolean {
  return frame.sid >= earlier.sid && frame.op !== 'u' && keyOf(frame) === keyOf(earlier)
}

/** How many sockets are opened while the suite writes. */
const sockets = 4

async function holdHello(context: Context): Promise<void> {
  if (!context.offer.hello) return context.leftOut('hello')
  const first = await context.copy()
  const written: { readonly sid: number; readonly record: RecordName }[] = []
  let isWriting = true
  const write = async () => {
    while (isWriting) {
      const record = context.record()
      const { sid } = await context.write([context.insertion(record)])
      written.push({ sid, record })
    }
  }
  const writing = [write(), write()]
  const listeners: Listener[] = []
  for (let n = 0; n < sockets; n += 1) listeners.push(await context.listen())
  isWriting = false
  await Promise.all(writing)
  const record = context.record()
  const { sid: last } = await context.write([context.insertion(record)])
  written.push({ sid: last, record })
  await context.reach(first, last)
  for (const listener of listeners) {
    await listener.until(pushMs, () => (reaches(listener, last) ? true : undefined))
    await context.pause(restMs)
    const [hello] = listener.messages
    const sid = isObject(hello?.json) && isObject(hello.json.hello) ? hello.json.hello.sid : undefined
    context.hold(
      Number.isSafeInteger(sid),
      'The first message is a hello with the `sid` of the head.',
      undefined,
      listener.shown(hello),
    )
    const pushed = new Set(pushesOf(listener).flatMap(({ delta }) => changesIn(delta).map(keyOf)))
    const missing = written.find((each) => each.sid > Number(sid) && !pushed.has(keyOf(each.record)))
    context.hold(
      missing === undefined,
      `The change at ${missing?.sid}, above the hello's ${sid}, is pushed.`,
      'It is not.',
      listener.shown(hello),
    )
  }
}

async function holdHeartbeat(context: Context): Promise<void> {
  const { hello } = context.offer
  const heartbeatMs = hello?.heartbeatMs
  if (heartbeatMs === undefined) return context.leftOut('heartbeat')
  const limitMs = context.run.timeoutMs
  if (heartbeatMs + lateMs > limitMs)
    context.untested(`A heartbeat comes every ${heartbeatMs / 1_000} s; set \`--timeout\` to more than that.`)
  const listener = await context.listen()
  let at = context.clock.now()
  for (let seen = 0; ; ) {
    const count = seen
    await listener.until(heartbeatMs + lateMs, () => (listener.messages.length > count ? true : undefined))
    const fresh = listener.messages.slice(count)
    context.hold(
      fresh.length > 0,
      `A message comes at least every ${heartbeatMs} ms, as the hello announces.`,
      `None came in ${context.clock.now() - at} ms.`,
      listener.shown(listener.messages[0]),
    )
    if (fresh.some(({ json }) => isHeartbeat(json))) return
    seen = listener.messages.length
    at = context.clock.now()
  }
}
