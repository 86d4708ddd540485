import { refuseUnknown } from '../base/check-options.ts'
import { ClosedError, ConfigurationError, ValidationError } from '../base/errors.ts'
import type { Models } from '../models/models.ts'
import { validatePayload, validateUpdate } from '../models/validate-write.ts'
import type { RecordImage } from '../persistence/outbox.ts'
import { applyOp, over, type RowSource, rowKey } from '../protocol/fold.ts'
import { isObject, type Payload } from '../protocol/json.ts'
import { copyPayload, isStorableName, maxNameLength } from '../protocol/json-copy.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'

/**
 * Reads and writes records inside a transaction, in order: each call sees the writes of earlier calls. Every method
 * throws a ValidationError for a wrong type, id or field, and a ConfigurationError for an unknown option.
 */
export interface Mutator {
  /** The record with the writes of this transaction, as a frozen object; `undefined` if there is no such record. */
  get(t: string, id: string): DraftRecord | undefined
  /** Adds a record and returns its id: `fields.id`, or a new UUIDv7. Throws if a record with that id exists. */
  insert(t: string, fields: Fields): string
  /** Replaces the listed fields and keeps the others. Throws if there is no such record. */
  update(t: string, id: string, fields: Fields, options?: WriteOptions): void
  /** Replaces the whole record, or adds it if there is none. Fields that `record` leaves out are removed. */
  put(t: string, record: Fields & { readonly id: string }, options?: WriteOptions): void
  /** Removes the record. Does nothing if there is no such record. */
  delete(t: string, id: string, options?: WriteOptions): void
}

export interface WriteOptions {
  /**
   * Asks the server to reject the transaction with `conflict` if the record has changed since the client's position.
   * @default false
   */
  readonly ifUnchanged?: boolean | undefined
}

export interface Fields {
  readonly [field: string]: unknown
}

export type DraftRecord = { readonly id: string } & Payload

export interface DraftOptions {
  /** The rows with all optimistic updates. */
  readonly rows: RowSource
  readonly models: Models
  readonly newId: () => string
  /** The client's position when the transaction is made. */
  readonly since: number
}

export interface Draft {
  readonly ops: readonly TxOp[]
  /** The records that `ops` change, as they were before the transaction. */
  readonly before: readonly RecordImage[]
}

/**
 * Runs `body` and returns its writes. Throws the error of `body`, and a ConfigurationError if `body` returns a promise.
 */
export function draft(body: (mutator: Mutator) => unknown, options: DraftOptions): Draft {
  const open = new OpenDraft(options)
  try {
    const result = body(open)
    if (isObject(result) && typeof result.then === 'function') {
      // Handle the rejection, since nobody awaits the promise.
      Promise.resolve(result).catch(() => {})
      const message = 'The function passed to `mutate` must be synchronous. Await before the call.'
      throw new ConfigurationError('mutate', message)
    }
    return open.draft
  } finally {
    open.close()
  }
}

class OpenDraft implements Mutator {
  readonly #options: DraftOptions
  readonly #ops: TxOp[] = []
  readonly #before = new Map<string, RecordImage>()
  readonly #now = new Map<string, WireRow | undefined>()
  #closed = false

  constructor(options: DraftOptions) {
    this.#options = options
  }

  get draft(): Draft {
    return { ops: this.#ops, before: [...this.#before.values()] }
  }

  close(): void {
    this.#closed = true
  }

  get(t: string, id: string): DraftRecord | undefined {
    const row = this.#row(t, id)
    return row && Object.freeze({ ...row.p, id })
  }

  insert(t: string, fields: Fields): string {
    const { id = this.#options.newId(), ...written } = payloadOf(t, fields)
    const name = checkedName(t, 'id', id)
    if (this.#row(t, name))
      throw new ValidationError(t, 'id', `a record ${name} exists already; use update or put`)
    const p = validatePayload(this.#options.models, t, name, written)
    this.#add({ op: 'i', t, id: name, p })
    return name
  }

  update(t: string, id: string, fields: Fields, options?: WriteOptions): void {
    const row = this.#row(t, id)
    if (!row)
      throw new ValidationError(t, 'id', `there is no record ${String(id)} to update; use insert or put`)
    const { id: named = id, ...p } = payloadOf(t, fields)
    if (named !== id) throw new ValidationError(t, 'id', 'the id of a record cannot be changed')
    validateUpdate(this.#options.models, t, { before: row.p, written: p, after: { ...row.p, ...p } })
    if (Object.keys(p).length > 0) this.#add({ op: 'u', t, id, p, ...this.#condition(options) })
  }

  put(t: string, record: Fields & { readonly id: string }, options?: WriteOptions): void {
    const { id, ...written } = payloadOf(t, record)
    const name = checkedName(t, 'id', id)
    const p = validatePayload(this.#options.models, t, name, written)
    this.#add({ op: 'i', t, id: name, p, put: true, ...this.#condition(options) })
  }

  delete(t: string, id: string, options?: WriteOptions): void {
    if (this.#row(t, id)) this.#add({ op: 'd', t, id, ...this.#condition(options) })
  }

  #row(t: string, id: string): WireRow | undefined {
    if (this.#closed) {
      throw new ClosedError('`m` was used after its transaction. Call `mutate` again.')
    }
    checkedName(t, 't', t)
    if (typeof id !== 'string') throw new ValidationError(t, 'id', 'must be a string')
    return over(this.#now, this.#options.rows).of(t).get(id)
  }

  #add(op: TxOp): void {
    const { t, id } = op
    const key = rowKey(t, id)
    const row = this.#row(t, id)
    if (!this.#before.has(key)) this.#before.set(key, { t, id, p: row?.p ?? null })
    this.#now.set(key, applyOp(row, op))
    this.#ops.push(op)
  }

  #condition(options: WriteOptions = {}) {
    const { ifUnchanged } = options
    refuseUnknown(options, { ifUnchanged })
    return ifUnchanged ? { unchangedSince: this.#options.since } : undefined
  }
}

function checkedName(t: string, field: string, name: unknown): string {
  if (name !== '' && isStorableName(name)) return name
  const what = `must be a string of 1 to ${maxNameLength} characters, and not \`__proto__\``
  throw new ValidationError(String(t), field, what)
}

function payloadOf(t: string, fields: Fields): Payload {
  checkedName(t, 't', t)
  const copied = copyPayload(fields)
  if ('payload' in copied) return copied.payload
  throw new ValidationError(t, copied.fault.path, copied.fault.what)
}
