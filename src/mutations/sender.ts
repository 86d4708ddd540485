import {
  ConfigurationError,
  type HttpError,
  isSyncError,
  ProtocolError,
  RejectedError,
  toError,
} from '../base/errors.ts'
import type { CallerCheck } from '../network/caller-check.ts'
import { type TxFailure, txFailureOf } from '../network/failure.ts'
import type { Transport } from '../network/transport.ts'
import { isOtherEpoch } from '../protocol/guards.ts'
import {
  readTxResponse,
  type TxCodec,
  type TxResponse,
  type TxResult,
  typeUnavailable,
} from '../protocol/tx.ts'
import type { DataPosition } from './data-position.ts'
import { type Outbox, wireOf } from './outbox.ts'
import type { LocalTransaction } from './transaction.ts'

/** The default for the maximum number of transactions in a request. */
const maxTransactions = 100

/** A transaction with less JSON than this, in characters, is not too large for any proxy. */
const smallChars = 16_384

export interface SenderOptions {
  readonly transport: Transport
  readonly codec: TxCodec
  readonly outbox: Outbox
  readonly callerCheck: CallerCheck
  /** The position of the local data; `undefined` until there is data. */
  readonly position: () => DataPosition | undefined
  /** The extensions that the hello of the server lists. */
  readonly features: () => readonly string[]
  /**
   * Called right before a transaction is sent for the first time. May cancel the transaction or change its ops.
   * `features`: the extensions that the server supports.
   */
  readonly review: (transaction: LocalTransaction, features: readonly string[]) => void
  /** Called when the server cannot decide about `transaction` for `retryAfter` seconds. */
  readonly hold: (transaction: LocalTransaction, reason: string, retryAfter?: number) => void
  readonly listener: SenderListener
}

export interface SenderListener {
  /**
   * The transactions are about to be sent. The request waits for the promise, and leaves out transactions that were
   * settled meanwhile. If the promise rejects, nothing is sent.
   */
  sending(transactions: readonly LocalTransaction[]): Promise<unknown>
  /**
   * The server has accepted `transaction`: its last change has the position `sid` in the history `epoch`. `hasTx`:
   * whether the server says that its frames name their transactions.
   */
  accepted(transaction: LocalTransaction, sid: number, epoch: string | undefined, hasTx: boolean): void
  /** The server has rejected `transaction`, based on its state at `sid`. */
  rejected(transaction: LocalTransaction, error: RejectedError, sid: number): void
}

/**
 * Sends queued transactions in order, one request at a time, in batches that `Outbox.batch` chooses. Without a
 * response, a transaction stays queued and keeps its id.
 */
export class Sender {
  readonly #options: SenderOptions
  /** The extensions that the last response listed. */
  #features: readonly string[] = []

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /**
   * Sends until nothing is queued, or until `outbox.mayDiffer`. Rejects if a request fails; its transactions are then
   * queued again.
   */
  async flush(signal: AbortSignal): Promise<void> {
    const { outbox, codec, callerCheck } = this.#options
    let limit = codec.maxTransactions ?? maxTransactions
    while (!outbox.mayDiffer) {
      const batch = outbox.batch(codec, limit, callerCheck.caller)
      if (batch.length === 0) return
      if (!(await this.#send(batch, signal))) limit = Math.ceil(batch.length / 2)
    }
  }

  /** Resolves with `false` if the batch has to be sent in halves. */
  async #send(batch: readonly LocalTransaction[], signal: AbortSignal): Promise<boolean> {
    const { transport, callerCheck, features: ofHello, review, outbox, listener } = this.#options
    /** The transactions in the request; `undefined` until they are marked. */
    let sent: readonly LocalTransaction[] | undefined
    try {
      const post = await transport.prepareTx(signal)
      const known = [...this.#features, ...ofHello()]
      for (const transaction of batch) if (!transaction.wasSent) review(transaction, known)
      sent = await this.#mark(batch)
      if (sent.length === 0) return true
      const body = await post(await this.#encode(sent))
      const { sid, epoch, caller, features = [], results } = this.#read(body, sent)
      callerCheck.check(caller)
      this.#features = features
      this.#refuseOtherEpoch(epoch)
      const byId = new Map(results.map((result) => [result.id, result]))
      const hasTx = features.includes('tx')
      for (const transaction of sent) this.#settle(transaction, sid, epoch, hasTx, byId.get(transaction.id))
      if (batch.some(({ id }) => byId.has(id))) return true
      throw new ProtocolError('bad_envelope', 'The response has no result for any transaction.')
    } catch (error) {
      const failure = txFailureOf(error, sent?.length ?? batch.length)
      const [first] = sent ?? []
      const code = failure.kind === 'rejected' ? failure.code : undefined
      const reason = first && isTooLarge(first, failure, error) ? 'too_large' : code
      if (reason !== undefined && first) {
        const rejection = new RejectedError(reason, toError(error).message)
        listener.rejected(first, rejection, Number.POSITIVE_INFINITY)
        return true
      }
      if (failure.kind === 'split') return false
      throw error
    } finally {
      // A refused undo that is made again waits for the data that shows why.
      for (const transaction of sent ?? []) {
        if (!outbox.results.has(transaction)) transaction.dispatch({ type: 'unsent' })
      }
    }
  }

  /** Marks the transactions of `batch` that are still queued as sent, and returns these. */
  async #mark(batch: readonly LocalTransaction[]): Promise<readonly LocalTransaction[]> {
    // A listener of one transaction may cancel another.
    const sent = batch.filter((transaction) => transaction.dispatch({ type: 'send' }))
    try {
      await this.#options.listener.sending(sent)
    } catch (error) {
      for (const transaction of sent) transaction.dispatch({ type: 'unsent' })
      throw error
    }
    return sent.filter(({ state }) => state === 'sending')
  }

  /**
   * Throws if the response is from another history than the data: its `sid` says nothing about the data. The
   * transactions are sent again once the data is from that history, too.
   */
  #refuseOtherEpoch(epoch: string | undefined): void {
    if (!isOtherEpoch(this.#options.position() ?? {}, epoch)) return
    throw new ProtocolError('discontinuous', 'The response is from another history than the data.')
  }

  /** The body of a request. Throws a ConfigurationError if the codec fails. */
  async #encode(sent: readonly LocalTransaction[]): Promise<string> {
    const { codec } = this.#options
    try {
      const json: string | undefined = JSON.stringify(await codec.encode(sent.map(wireOf)))
      if (json === undefined) throw new Error('it returned nothing.')
      return json
    } catch (cause) {
      const message = `\`transactionCodec.encode\` failed: ${toError(cause).message}`
      throw new ConfigurationError('transactionCodec', message, { cause })
    }
  }

  #read(body: unknown, sent: readonly LocalTransaction[]): TxResponse {
    try {
      return readTxResponse(this.#options.codec.decode(body, sent.map(wireOf)))
    } catch (thrown) {
      if (isSyncError(thrown)) throw thrown
      const message = `\`transactionCodec.decode\` failed: ${toError(thrown).message}`
      throw new ProtocolError('bad_envelope', message, { cause: thrown })
    }
  }

  #settle(
    transaction: LocalTransaction,
    sid: number,
    epoch: string | undefined,
    hasTx: boolean,
    result: TxResult | undefined,
  ): void {
    const { hold, listener, position } = this.#options
    if (!result) return
    if ('sid' in result) listener.accepted(transaction, result.sid, epoch ?? position()?.epoch, hasTx)
    else {
      const { code, message, details } = result.error
      if (code === typeUnavailable) hold(transaction, message, result.retryAfter)
      else listener.rejected(transaction, new RejectedError(code, message, details), sid)
    }
  }
}

/** Whether a proxy has refused `transaction`, which was alone in its request, because of its size. */
function isTooLarge(transaction: LocalTransaction, { kind }: TxFailure, error: unknown): boolean {
  if (kind !== 'paused' || !isSyncError(error, 'HttpError') || error.status !== 413) return false
  return JSON.stringify(wireOf(transaction)).length >= smallChars
}

/** Whether `error` means that the server accepts no transactions at all for now. */
export function isPause(error: unknown): error is HttpError {
  return txFailureOf(error, 1).kind === 'paused'
}
