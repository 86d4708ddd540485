import type { TxOp, TxResponse } from '../../src/protocol/tx.ts'
import type { SyncServiceOptions } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

/** A transaction as a client sends it. */
export function tx(id: string, ops: readonly unknown[], more: object = {}) {
  return { id, since: 0, ops, ...more }
}

/** An insert without an owner, as clients send it. */
export function make(id: string, p: object = {}): TxOp {
  return { op: 'i', t: 'Todo', id, p: { ...p } }
}

export function put(id: string, p: object = {}): TxOp {
  return { ...make(id, p), put: true } as TxOp
}

/** A service in virtual time, and ways to send transactions to it. */
export function txServiceOf(options: Partial<SyncServiceOptions> = {}) {
  const made = serviceOf(options)
  let count = 0
  const post = (body: BodyInit, init: RequestInit & { user?: string } = {}) =>
    made.ask('tx', { method: 'POST', body, ...init })
  const send = async (txs: readonly object[], user = 'ann'): Promise<TxResponse> =>
    (await post(JSON.stringify({ txs }), { user })).json()
  /** The code of each rejection, or `accepted`. */
  const codes = async (txs: readonly object[], user = 'ann') =>
    (await send(txs, user)).results.map((result) => ('error' in result ? result.error.code : 'accepted'))
  const codeOf = async (op: unknown, user = 'ann') => {
    count += 1
    return (await codes([tx(`only-${count}`, [op])], user))[0]
  }
  return { ...made, post, send, codes, codeOf }
}
