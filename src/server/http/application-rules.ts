import { Deferred } from '../../base/deferred.ts'
import type { Clock } from '../../base/environment.ts'
import type { Rejection, TxOp, WireTransaction } from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'
import { bytesOf } from '../log/check-size.ts'
import type { Judge, ReadRecord, Rules, Ruling, StoredRecord } from '../log/log.ts'
import { toRejection, WriteRejectedError } from '../log/rejection.ts'
import { readAfterEnd } from '../log/rules.ts'
import { recordOf, recordReader } from '../record.ts'
import { type Authorize, askPermission, failureOf, type Permission } from './authorize.ts'
import { type Prepare, preparedOp } from './prepare.ts'

/**
 * The maximum length of the removed records that `prepare` gets for one transaction, in bytes of JSON: as much as can
 * be read while others wait, within the time limit of the rules.
 */
const maxRemovedBytes = 64 * 1_048_576

export interface ApplicationRulesOptions {
  readonly authorize: Authorize | undefined
  readonly prepare: Prepare | undefined
  readonly clock: Clock
  readonly caller: Caller
  /**
   * Returns the function that decides on each op. `mayChangeOwner`: whether the ops may give a record to another owner.
   */
  readonly judgeFor: (mayChangeOwner: boolean) => Judge
  /** Returns the record if it is one of the caller's. */
  readonly ownRecord: (stored: StoredRecord | undefined) => StoredRecord | undefined
}

/** The decision so far. `rules`: the rules that still have to run under the log's lock. */
export interface RulesStart {
  readonly refused?: Rejection | undefined
  readonly judge: Judge
  readonly rules?: Rules
}

/** The application's rules for one transaction. */
export class ApplicationRules {
  readonly #transaction: WireTransaction
  readonly #options: ApplicationRulesOptions
  #call: AuthorizeCall | undefined

  constructor(transaction: WireTransaction, options: ApplicationRulesOptions) {
    this.#transaction = transaction
    this.#options = options
  }

  /**
   * Runs `authorize` up to its first `read`, before the log is locked, since it may take long. A function that reads
   * nothing is done then. What is left of a transaction with `was` is known only under the lock, so `authorize` waits
   * for that. A transaction that is `refused` already needs no rules. Throws a RuleFailure.
   */
  async begin(refused?: Rejection): Promise<RulesStart> {
    const { authorize, prepare, judgeFor } = this.#options
    const { ops } = this.#transaction
    if (refused) return { refused, judge: judgeFor(false) }
    if (authorize && ops.some(({ was }) => was !== undefined))
      return { judge: judgeFor(false), rules: this.#rules() }
    const call = this.#newCall(ops)
    const permission = await call.untilRead()
    if (!permission) return { judge: judgeFor(false), rules: this.#rules(call) }
    const judge = judgeFor(permission.mayChangeOwner)
    if (permission.refused) return { refused: toRejection(permission.refused), judge }
    if (!prepare) return { judge }
    return { judge, rules: async () => this.#ruling(judge) }
  }

  /** Ends the call of `authorize`. A pending `read` fails, since nobody will answer it. */
  end(): void {
    this.#call?.end()
  }

  #newCall(ops: WireTransaction['ops']): AuthorizeCall {
    const { authorize, caller } = this.#options
    const transaction = { ...this.#transaction, ops }
    this.#call = new AuthorizeCall((read) => authorize?.(transaction, caller, { read: recordReader(read) }))
    return this.#call
  }

  /**
   * Continues with `first`. If the rules run again, or without `first`, `authorize` is called. If nothing is left of
   * the transaction, it is accepted whatever the rules say.
   */
  #rules(first?: AuthorizeCall): Rules {
    let next = first
    return async (read, ops) => {
      if (ops.length === 0) return { judge: this.#options.judgeFor(false) }
      const call = next ?? this.#newCall([...ops])
      next = undefined
      const { refused, mayChangeOwner } = await call.answerWith(read)
      if (refused) throw refused
      return this.#ruling(this.#options.judgeFor(mayChangeOwner))
    }
  }

  #ruling(judge: Judge): Ruling {
    const { prepare, clock, caller, ownRecord } = this.#options
    if (!prepare) return { judge }
    const now = clock.now()
    let removedBytes = 0
    const prepareOp = async (op: TxOp, stored: StoredRecord | undefined, read: ReadRecord) => {
      const own = ownRecord(stored)
      // The log may hand out the record of a removal without its fields.
      const whole = own && op.op === 'd' ? await read(op.t, op.id) : own
      if (whole && op.op === 'd') removedBytes += bytesOf(whole.p)
      if (removedBytes > maxRemovedBytes) throw tooMuchRemoved()
      const before = whole && recordOf(op.id, whole.p)
      try {
        const context = { before, caller, now, read: recordReader(read) }
        return preparedOp(op, await prepare(structuredClone(op), context))
      } catch (error) {
        throw failureOf(error)
      }
    }
    return { judge, prepare: prepareOp }
  }
}

function tooMuchRemoved(): WriteRejectedError {
  const message = `The records to be removed are longer than ${maxRemovedBytes} bytes in total.`
  return new WriteRejectedError('too_large', message)
}

/** One call of `authorize`, whose reads wait until the log answers them. */
class AuthorizeCall {
  readonly #reader = new Deferred<ReadRecord>()
  readonly #firstRead = new Deferred<undefined>()
  readonly #permission: Promise<Permission>

  constructor(authorize: (read: ReadRecord) => unknown) {
    const read: ReadRecord = async (t, id) => {
      this.#firstRead.resolve(undefined)
      const answer = await this.#reader.promise
      return answer(t, id)
    }
    this.#permission = askPermission(() => authorize(read))
    this.#permission.catch(() => {})
  }

  /** Resolves with the result, or with `undefined` once the function waits for a read. */
  untilRead(): Promise<Permission | undefined> {
    return Promise.race([this.#firstRead.promise, this.#permission])
  }

  answerWith(read: ReadRecord): Promise<Permission> {
    this.#reader.resolve(read)
    return this.#permission
  }

  end(): void {
    this.#reader.reject(readAfterEnd())
  }
}
