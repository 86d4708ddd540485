import type { Exchange } from './exchange.ts'

/** The server does not keep the rule. */
export class NotHeld extends Error {
  /** The right behaviour of the server, in one sentence. */
  readonly expected: string
  /** The behaviour that was found, if the answer alone does not show it. */
  readonly found: string | undefined
  /** The request and the answer that show it. */
  readonly exchange: Exchange | undefined

  constructor(
    expected: string,
    details: { readonly found?: string | undefined; readonly exchange?: Exchange | undefined } = {},
  ) {
    super(expected)
    this.expected = expected
    this.found = details.found
    this.exchange = details.exchange
  }
}

/** Whether the server keeps the rule cannot be found out. The message is the reason, in one sentence. */
export class Untested extends Error {}

/** The server does not have what the rule is about, and need not. */
export class LeftOut extends Error {
  readonly part: OptionalPart

  constructor(part: OptionalPart) {
    super(`The server has no ${part}.`)
    this.part = part
  }
}

/** What a server may leave out. */
export type OptionalPart =
  | 'POST /tx'
  | 'GET /ws'
  | 'frames in deltas'
  | 'caller'
  | 'epoch'
  | 'count'
  | 'lines'
  | 'hello'
  | 'heartbeat'
  | 'since in pushes'
  | 'tx in frames'
  | 'was in features'
  | 'restores in features'
  | 'details of id_reused'
  | 'compression'
  | 'CORS'
