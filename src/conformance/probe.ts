import { isObject } from '../protocol/json.ts'
import type { Scheme } from './credentials.ts'
import { openSocket } from './listener.ts'
import type { Offer } from './offer.ts'
import { type Answer, NoAnswer, type Wire } from './wire.ts'

/** Nobody answers at the address, or nobody who could be the server. The message says what to do. */
export class NobodyThere extends Error {}

/** The first message may be a hello; after this time in ms, there is none. */
const helloMs = 1_500

/** Finds out what the server has. Rejects with {@link NobodyThere} if there is no response at all. */
export async function probe(wire: Wire): Promise<Offer> {
  const first = await firstAnswer(wire)
  const { answer, scheme } = await withScheme(wire, first)
  wire.credentials.scheme = scheme
  const { json } = answer
  const snapshot = isObject(json) ? json : {}
  const [tx, socket] = await Promise.all([hasTx(wire), socketOf(wire, scheme)])
  return {
    scheme,
    tx,
    ...socket,
    epoch: textOf(snapshot.epoch),
    caller: textOf(snapshot.caller),
    position: typeof snapshot.sid === 'number' ? snapshot.sid : 0,
    ids: Array.isArray(snapshot.rows) ? snapshot.rows.flatMap((row) => textOf(row?.id) ?? []) : [],
  }
}

async function firstAnswer(wire: Wire): Promise<Answer> {
  try {
    return await wire.send({ path: '/bootstrap' })
  } catch (error) {
    if (error instanceof NoAnswer) throw new NobodyThere(`${wire.url} does not respond: ${error.message}`)
    throw error
  }
}

/** A deployment selects one of two headers for its credentials. Tries the second if the first is refused. */
async function withScheme(
  wire: Wire,
  answer: Answer,
): Promise<{ readonly answer: Answer; readonly scheme: Scheme }> {
  const token = wire.credentials.textOf('token')
  if (answer.status !== 401 || token === '') return { answer, scheme: 'bearer' }
  const second = await wire.send({ path: '/bootstrap', as: 'none', headers: { 'x-api-key': token } })
  return second.status === 200 ? { answer: second, scheme: 'api-key' } : { answer, scheme: 'bearer' }
}

/** An endpoint that is not there responds with one of these. */
function isMissing(status: number): boolean {
  return status === 404 || status === 405 || status === 501
}

async function hasTx(wire: Wire): Promise<boolean> {
  try {
    const { status } = await wire.send({ path: '/tx', body: '{"txs":[]}' })
    return !isMissing(status)
  } catch {
    return true
  }
}

async function socketOf(wire: Wire, scheme: Scheme): Promise<Pick<Offer, 'ws' | 'hello'>> {
  const where = scheme === 'api-key' ? 'header' : 'query'
  const { status, listener } = await openSocket(wire, { where })
  if (!listener) return { ws: !isMissing(status), hello: undefined }
  const first = await listener.until(helloMs, () => listener.messages[0])
  listener.close()
  const hello = isObject(first?.json) && isObject(first.json.hello) ? first.json.hello : undefined
  if (!hello) return { ws: true, hello: undefined }
  const { features, heartbeatMs } = hello
  const texts = Array.isArray(features) ? features.flatMap((feature) => textOf(feature) ?? []) : []
  const beat = typeof heartbeatMs === 'number' && heartbeatMs > 0 ? heartbeatMs : undefined
  return { ws: true, hello: { features: texts, heartbeatMs: beat } }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
