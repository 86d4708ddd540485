import { type HttpError, isSyncError, ProtocolError, RejectedError, toError } from '../base/errors.ts'
import { type Outbox, wireOf } from '../outbox/outbox.ts'
import type { LocalTransaction } from '../outbox/transaction.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import { readTxResponse, type TxCodec, type TxResponse, type TxResult } from '../protocol/tx.ts'
import { txFailureOf } from '../transport/failure.ts'
import type { Transport } from '../transport/transport.ts'
import type { Continuity } from './continuity.ts'

/** So many go into one request, unless the codec says otherwise. */
const mostTransactions = 100

export interface SenderOptions {
  readonly transport: Transport
  readonly codec: TxCodec
  readonly outbox: Outbox
  /** Where the data is; `undefined` until there is some. */
  readonly continuity: () => Continuity | undefined
  readonly listener: SenderListener
}

export interface SenderListener {
  /** These are about to be sent for the first time, once what it gives has settled: those of them that still stand. */
  sending(transactions: readonly LocalTransaction[]): Promise<unknown>
  /** The server has `transaction`, as the changes up to `sid`. */
  accepted(transaction: LocalTransaction, sid: number): void
  /** The server refuses `transaction`, by what it has at `sid`. */
  rejected(transaction: LocalTransaction, error: RejectedError, sid: number): Promise<void>
}

/** Sends what is queued, in order and in batches, one request at a time. No answer, and it stays queued under its id. */
export class Sender {
  readonly #options: SenderOptions

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Sends until nothing is queued. Rejects where a request fails; what was in it is queued again. */
  async flush(signal: AbortSignal): Promise<void> {
    const { outbox, codec } = this.#options
    let limit = codec.maxTransactions ?? mostTransactions
    for (let batch = outbox.batch(codec, limit); batch.length > 0; batch = outbox.batch(codec, limit)) {
      if (!(await this.#send(batch, signal))) limit = Math.ceil(batch.length / 2)
    }
  }

  /** Gives `false` where the batch is to be sent in halves. */
  async #send(next: readonly LocalTransaction[], signal: AbortSignal): Promise<boolean> {
    const { listener } = this.#options
    const unsent = new Set(next.filter(({ wasSent }) => !wasSent))
    // Whoever hears of one being sent may take back another.
    const batch = next.filter((transaction) => transaction.dispatch({ type: 'send' }))
    try {
      const first = batch.filter((transaction) => unsent.has(transaction))
      if (first.length > 0) await listener.sending(first)
      const sent = batch.filter(({ state }) => state === 'sending')
      if (sent.length === 0) return true
      const { sid, epoch, results } = await this.#exchange(sent, signal)
      this.#compare(epoch)
      const byId = new Map(results.map((result) => [result.id, result]))
      for (const transaction of sent) await this.#settle(transaction, sid, byId.get(transaction.id))
      if (batch.some(({ id }) => byId.has(id))) return true
      throw new ProtocolError('bad_envelope', 'The answer to a transaction says nothing of what was sent.')
    } catch (error) {
      const failure = txFailureOf(error, batch.length)
      const [first] = batch
      if (failure.kind === 'rejected' && first) {
        const rejection = new RejectedError(failure.code, toError(error).message)
        await listener.rejected(first, rejection, Number.POSITIVE_INFINITY)
        return true
      }
      if (failure.kind === 'split') return false
      throw error
    } finally {
      for (const transaction of batch) transaction.dispatch({ type: 'unsent' })
    }
  }

  /** A `sid` of another history says nothing about the data: the answer comes again, once the data is of that, too. */
  #compare(epoch: string | undefined): void {
    if (!isOtherEpoch(this.#options.continuity() ?? {}, epoch)) return
    throw new ProtocolError(
      'discontinuous',
      'The answer to a transaction comes from another history than the data.',
    )
  }

  async #exchange(batch: readonly LocalTransaction[], signal: AbortSignal): Promise<TxResponse> {
    const { transport, codec } = this.#options
    const txs = batch.map(wireOf)
    const body = await transport.transact(() => codec.encode(txs), signal)
    try {
      return readTxResponse(codec.decode(body, txs))
    } catch (thrown) {
      if (isSyncError(thrown)) throw thrown
      const message = `The answer to a transaction cannot be read: ${toError(thrown).message}`
      throw new ProtocolError('bad_envelope', message, { cause: thrown })
    }
  }

  async #settle(transaction: LocalTransaction, sid: number, result: TxResult | undefined): Promise<void> {
    const { listener } = this.#options
    if (!result) return
    if ('sid' in result) listener.accepted(transaction, result.sid)
    else {
      const { code, message, details } = result.error
      await listener.rejected(transaction, new RejectedError(code, message, details), sid)
    }
  }
}

/** Whether `error` means that this server takes no transactions at all, for now. */
export function isPause(error: unknown): error is HttpError {
  return txFailureOf(error, 1).kind === 'paused'
}
