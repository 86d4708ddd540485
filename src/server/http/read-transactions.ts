import { isSid } from '../../protocol/guards.ts'
import { isObject } from '../../protocol/json.ts'
import { isStorable } from '../../protocol/json-copy.ts'
import { Failure } from './failure.ts'

export interface TransactionLimits {
  /** The maximum number of transactions in one request. */
  readonly maxTransactions: number
  /** The maximum number of ops in one transaction, and of ids in each of its lists. */
  readonly maxOps: number
}

/** A transaction whose ops are not checked yet: an invalid op leads to a verdict, not to a refused request. */
export interface SentTransaction {
  readonly id: string
  readonly since: number
  readonly epoch?: unknown
  readonly ops: readonly unknown[]
  readonly bases?: readonly string[] | undefined
  readonly requires?: readonly string[] | undefined
}

/**
 * Reads the transactions of a request body. Throws a {@link Failure} if the body has none, an invalid one, or too many.
 */
export function readTransactions(body: unknown, limits: TransactionLimits): readonly SentTransaction[] {
  const { maxTransactions, maxOps } = limits
  const txs: readonly unknown[] = isObject(body) && Array.isArray(body.txs) ? body.txs : []
  if (txs.length === 0) throw bad('The body must be {"txs": […]}, with at least one transaction.')
  if (txs.length > maxTransactions)
    throw tooLarge(`The request holds more than ${maxTransactions} transactions.`)
  return txs.map((tx, index) => {
    if (!isSent(tx))
      throw bad(
        `The transaction at ${index} is not valid: it needs \`id\`, \`since\` and \`ops\`; \`bases\` and \`requires\` must be lists of ids.`,
      )
    const { ops, bases = [], requires = [] } = tx
    if (Math.max(ops.length, bases.length, requires.length) > maxOps) {
      throw tooLarge(`The transaction at ${index} holds more than ${maxOps} ops, \`bases\` or \`requires\`.`)
    }
    return tx
  })
}

function isSent(value: unknown): value is SentTransaction {
  if (!isObject(value)) return false
  const { id, since, ops, bases = [], requires = [] } = value
  return isTxId(id) && isSid(since) && Array.isArray(ops) && ops.length > 0 && isIds(bases) && isIds(requires)
}

function isIds(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isTxId)
}

function isTxId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 64 && isStorable(value)
}

function bad(message: string): Failure {
  return new Failure(400, 'bad_request', message)
}

function tooLarge(message: string): Failure {
  return new Failure(413, 'too_large', message)
}
