import { isObject, jsonEqual, type Payload } from '../protocol/json.ts'
import type { Exchange } from './exchange.ts'
import { NotHeld } from './outcome.ts'
import type { Answer } from './wire.ts'

/*
 * Readers of what a server sends. They accept only what docs/protocol.md lets a server send, while a client also puts up
 * with less. What is wrong is said in a sentence, as `NotHeld`.
 */

export interface Row {
  readonly t: string
  readonly id: string
  readonly v?: number
  readonly p: Payload
}

export interface Frame {
  readonly sid: number
  readonly t: string
  readonly id: string
  readonly op: 'i' | 'u' | 'd'
  readonly p: Payload
  readonly tx?: unknown
}

export interface Snapshot {
  readonly sid: number
  readonly rows: readonly Row[]
  readonly json: { readonly [name: string]: unknown }
  readonly answer: Answer
}

/** A delta, or a push that is one. */
export interface Delta {
  readonly sid: number
  /** `undefined` if the delta has rows. */
  readonly frames: readonly Frame[] | undefined
  readonly rows: readonly Row[]
  readonly since?: number
  readonly json: unknown
  readonly exchange: Exchange
}

export type Result =
  | { readonly id: string; readonly sid: number; readonly error?: undefined; readonly json: unknown }
  | { readonly id: string; readonly sid?: undefined; readonly error: ResultError; readonly json: unknown }

export interface ResultError {
  readonly code: string
  readonly details?: unknown
}

export interface TxAnswer {
  readonly sid: number | undefined
  readonly results: readonly Result[]
  readonly json: { readonly [name: string]: unknown }
  readonly answer: Answer
}

/** The key of a record: type and id together. */
export function keyOf({ t, id }: { readonly t: string; readonly id: string }): string {
  return JSON.stringify([t, id])
}

export function readSnapshot(answer: Answer): Snapshot {
  const fail = failOn(answer.exchange, 'A snapshot')
  const json = objectIn(answer, 'A snapshot')
  const { sid, rows } = json
  if (!isSid(sid)) return fail('has a `sid` that is a whole number', sidFault(sid))
  if (!Array.isArray(rows)) return fail('has an array `rows`')
  const read = rows.map((row) => readRow(row, fail))
  const twice = firstTwice(read.map(keyOf))
  if (twice) fail('has each record once', `${twice} is there twice.`)
  return { sid, rows: read, json, answer }
}

/** Reads the answer to `GET /delta?since=`. */
export function readDelta(answer: Answer, since: number): Delta {
  const json = objectIn(answer, 'A delta')
  const delta = deltaOf(json, answer.exchange, 'A delta')
  const fail = failOn(answer.exchange, 'A delta')
  const early = delta.frames?.find((frame) => frame.sid <= since)
  if (early && delta.sid >= since)
    fail('has only changes after `since`', `There is a frame with \`sid\` ${early.sid}.`)
  return delta
}

/** Reads a message of a socket that has changes or a position; `undefined` for a hello, and for a hint. */
export function readPush(json: unknown, exchange: Exchange): Delta | undefined {
  if (Array.isArray(json)) return deltaOf({ sid: lastSid(json), frames: json }, exchange, 'A push')
  if (!isObject(json)) return undefined
  if ('op' in json) return deltaOf({ since: json.since, sid: json.sid, frames: [json] }, exchange, 'A push')
  const isDelta = 'frames' in json || 'rows' in json || 't' in json
  return isDelta ? deltaOf(json, exchange, 'A push') : undefined
}

export function readTxAnswer(answer: Answer, ids: readonly string[]): TxAnswer {
  const fail = failOn(answer.exchange, 'The answer to a transaction')
  const json = objectIn(answer, 'The answer to a transaction')
  const { results, sid } = json
  if (!Array.isArray(results)) return fail('has an array `results`')
  const read = results.map((result): Result => {
    if (!isObject(result)) return fail('has results that are objects')
    const { id, sid, error } = result
    if (typeof id !== 'string') return fail('names the `id` of each transaction')
    if (isObject(error)) {
      const { code, details } = error
      return typeof code === 'string'
        ? { id, error: { code, details }, json: result }
        : fail('has a `code` in each error')
    }
    return isSid(sid)
      ? { id, sid, json: result }
      : fail('has a `sid` or an `error` in each result', sidFault(sid))
  })
  if (
    !jsonEqual(
      read.map(({ id }) => id),
      ids,
    )
  )
    fail('has a result for each transaction, in their order')
  return { sid: isSid(sid) ? sid : undefined, results: read, json, answer }
}

type Fail = (what: string, found?: string) => never

function failOn(exchange: Exchange, subject: string): Fail {
  return (what, found) => {
    throw new NotHeld(`${subject} ${what}.`, { exchange, found })
  }
}

function objectIn({ status, json, exchange }: Answer, subject: string) {
  const fail = failOn(exchange, subject)
  if (status !== 200) fail('has status 200', `The status is ${status}.`)
  return isObject(json) ? json : fail('is a JSON object in UTF-8')
}

function deltaOf(json: { readonly [name: string]: unknown }, exchange: Exchange, subject: string): Delta {
  const fail = failOn(exchange, subject)
  const { sid, frames, rows, since, t } = json
  if (!isSid(sid)) return fail('has a `sid` that is a whole number', sidFault(sid))
  const common = { sid, json, exchange, ...(isSid(since) ? { since } : undefined) }
  if (Array.isArray(frames)) {
    const read = frames.map((frame) => readFrame(frame, fail))
    const sids = read.map((frame) => frame.sid)
    if (sids.some((each, at) => each < (sids[at - 1] ?? each))) fail('has frames in ascending order of `sid`')
    const beyond = sids.find((each) => each > sid)
    if (beyond !== undefined) fail('has a `sid` that is not below that of a frame', `A frame has ${beyond}.`)
    return { ...common, frames: read, rows: [] }
  }
  if (Array.isArray(rows))
    return { ...common, frames: undefined, rows: rows.map((row) => readRow(row, fail)) }
  if (typeof t === 'string') return { ...common, frames: undefined, rows: [readRow(json, fail)] }
  return fail('has `frames` or `rows`, or is a row')
}

function readRow(row: unknown, fail: Fail): Row {
  if (!isObject(row)) return fail('has rows that are objects')
  const { t, id, v, p } = row
  if (typeof t !== 'string') return fail('has rows with a string `t`')
  if (typeof id !== 'string') return fail('has rows with a string `id`', `An \`id\` is a ${typeof id}.`)
  if (!isObject(p) || Object.hasOwn(p, '__proto__')) return fail('has rows with an object `p`')
  if (v !== undefined && typeof v !== 'number') fail('has rows whose `v` is a number or missing')
  return { t, id, p: p as Payload, ...(typeof v === 'number' ? { v } : undefined) }
}

function readFrame(frame: unknown, fail: Fail): Frame {
  if (!isObject(frame)) return fail('has frames that are objects')
  const { sid, t, id, op, p = {}, at, tx } = frame
  if (!isSid(sid)) return fail('has frames with a `sid` that is a whole number', sidFault(sid))
  if (typeof t !== 'string') return fail('has frames with a string `t`')
  if (typeof id !== 'string') return fail('has frames with a string `id`', `An \`id\` is a ${typeof id}.`)
  if (op !== 'i' && op !== 'u' && op !== 'd') return fail('has frames whose `op` is `i`, `u` or `d`')
  if (!isObject(p) || Object.hasOwn(p, '__proto__')) return fail('has frames whose `p` is an object')
  if (op === 'd' && 'p' in frame) fail('has no `p` in a frame whose `op` is `d`')
  if (at !== undefined && typeof at !== 'number') fail('has frames whose `at` is a number or missing')
  return { sid, t, id, op, p: p as Payload, tx }
}

function isSid(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function sidFault(sid: unknown): string {
  if (sid === undefined) return 'There is no `sid`.'
  return typeof sid === 'string' ? 'It is a string.' : `It is ${JSON.stringify(sid)}.`
}

function lastSid(frames: readonly unknown[]): unknown {
  const last = frames.at(-1)
  return isObject(last) ? last.sid : undefined
}

function firstTwice(keys: readonly string[]): string | undefined {
  const seen = new Set<string>()
  return keys.find((key) => seen.size === seen.add(key).size)
}
