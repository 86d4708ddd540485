import type { Clock, Random } from '../base/environment.ts'
import type { Ids } from '../base/ids.ts'
import { isObject, type Payload } from '../protocol/json.ts'
import { Copy } from './copy.ts'
import type { As } from './credentials.ts'
import type { Exchange } from './exchange.ts'
import { type Listener, type Opening, type OpenOptions, openSocket } from './listener.ts'
import type { Made } from './made.ts'
import {
  type Delta,
  type Result,
  readDelta,
  readSnapshot,
  readTxAnswer,
  type Snapshot,
  type TxAnswer,
} from './messages.ts'
import type { Offer } from './offer.ts'
import { LeftOut, NotHeld, type OptionalPart, Untested } from './outcome.ts'
import type { RecordIds, Template } from './template.ts'
import type { Answer, Wire, WireRequest } from './wire.ts'

export type User = 'token' | 'other-token'

/** An operation of a transaction, as it is sent. It may be wrong on purpose. */
export type Op = { readonly [name: string]: unknown }

export interface Tx {
  readonly id: string
  readonly since: number
  readonly ops: readonly Op[]
  readonly bases?: readonly string[]
  readonly requires?: readonly string[]
}

export interface Accepted {
  readonly id: string
  readonly sid: number
  readonly exchange: Exchange
}

export interface RecordName {
  readonly t: string
  readonly id: string
}

/** The data that all checks of a run share. */
export interface Run {
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly offer: Offer
  readonly made: Made
  readonly template: Template
  readonly change: Payload
  readonly recordIds: RecordIds
  /** Results that several checks use, by name. */
  readonly shared: Map<string, Promise<unknown>>
  /** The time limit of a check, in ms. */
  readonly timeoutMs: number
  /** Until when the check has to end, in ms since the epoch. */
  readonly end: number
}

/** The tools of one check: requests, records of its own, and sockets. */
export class Context {
  readonly run: Run
  readonly wire: Wire
  readonly #listeners: Listener[] = []
  /** The position of the last change that the check has made, by user. */
  readonly #written = new Map<User, number>()

  constructor(run: Run, wire: Wire) {
    this.run = run
    this.wire = wire
  }

  get clock(): Clock {
    return this.run.clock
  }

  get offer(): Offer {
    return this.run.offer
  }

  /** Ends what the check has opened. */
  close(): void {
    for (const listener of this.#listeners) listener.close()
  }

  // Outcomes

  /** Throws a {@link NotHeld} with the last request, unless `condition` holds. */
  hold(
    condition: boolean,
    expected: string,
    found?: string,
    exchange: Exchange | undefined = this.wire.last,
  ): void {
    if (!condition) throw new NotHeld(expected, { found, exchange })
  }

  /** Throws a {@link NotHeld} if `found` says that something is wrong. */
  holdUnless(
    found: string | undefined,
    expected: string,
    exchange: Exchange | undefined = this.wire.last,
  ): void {
    if (found !== undefined) throw new NotHeld(expected, { found, exchange })
  }

  untested(reason: string): never {
    throw new Untested(reason)
  }

  leftOut(part: OptionalPart): never {
    throw new LeftOut(part)
  }

  /** The result of `make`, which runs once for all checks. */
  once<T>(name: string, make: () => Promise<T>): Promise<T> {
    const { shared } = this.run
    const known = shared.get(name) as Promise<T> | undefined
    const made = known ?? make()
    if (!known) shared.set(name, made)
    return made
  }

  // Reading

  get(path: string, as: As = 'token', headers: WireRequest['headers'] = {}): Promise<Answer> {
    return this.wire.send({ path, as, headers })
  }

  async snapshot(as: User = 'token'): Promise<Snapshot> {
    return readSnapshot(await this.get('/bootstrap', as))
  }

  async delta(since: number, as: User = 'token'): Promise<Delta> {
    return readDelta(await this.get(`/delta?since=${since}`, as), since)
  }

  /** A copy as a new client has it. */
  async copy(as: User = 'token'): Promise<Copy> {
    return Copy.of(await this.snapshot(as))
  }

  /**
   * A copy as a new client has it, at `sid` or later: a read replica may lag behind. `sid`: by default, that of the last
   * change that the check has made.
   */
  async copyAt(sid: number = this.#written.get('token') ?? 0, as: User = 'token'): Promise<Copy> {
    const copy = await this.copy(as)
    if (copy.sid < sid) await this.reach(copy, sid, as)
    return copy
  }

  /**
   * Brings `copy` to `sid` by deltas, as often as it takes: a read replica may lag. Calls `seen` with each delta. If the
   * server has forgotten the changes, takes a snapshot.
   */
  async reach(
    copy: Copy,
    sid: number,
    as: User = 'token',
    seen: (delta: Delta) => void = () => {},
  ): Promise<void> {
    const end = this.clock.now() + Math.min(this.wire.requestMs, Math.max(0, this.run.end - this.clock.now()))
    for (let waitMs = 5; ; waitMs = Math.min(200, waitMs * 2)) {
      const since = copy.sid
      const answer = await this.get(`/delta?since=${since}`, as)
      if (answer.status === 410 || answer.status === 409) {
        const snapshot = Copy.of(await this.snapshot(as))
        copy.records.clear()
        for (const [key, fields] of snapshot.records) copy.records.set(key, fields)
        copy.sid = snapshot.sid
        copy.hasJumped = true
      } else {
        const delta = readDelta(answer, since)
        copy.apply(delta)
        seen(delta)
      }
      if (copy.sid >= sid) return
      this.hold(
        this.clock.now() + waitMs < end,
        `A delta reaches the change at ${sid} within ${this.wire.requestMs / 1_000} s.`,
        `It ends at ${copy.sid}.`,
      )
      await this.pause(waitMs)
    }
  }

  pause(ms: number): Promise<void> {
    return this.wire.pause(ms)
  }

  // Writing

  /** Whether there is `POST /tx`, and a record for it. For checks that work without, and check more with it. */
  get canInsert(): boolean {
    return this.offer.tx && this.run.template.t !== ''
  }

  /**
   * Fields beside those of `--insert` and `--change`. Empty if the server does not accept an unknown field, as one that
   * knows the models of its records.
   */
  extraFields(): Promise<Payload> {
    return this.once('extra fields', async () => {
      const extra = { conformance: 'extra' }
      const { error } = await this.result(this.tx([this.insertion(this.record(extra))]))
      return error ? {} : extra
    })
  }

  /** A record that is not there yet, with the fields of `--insert` and others. */
  record(fields: Payload = {}): RecordName & { readonly p: Payload } {
    const { template, recordIds } = this.run
    return { t: template.t, id: recordIds.next(), p: { ...template.p, ...fields } }
  }

  insertion(record: RecordName & { readonly p: Payload }): Op {
    const { t, id, p } = record
    return { op: 'i', t, id, p }
  }

  update({ t, id }: RecordName, p: Payload = this.run.change): Op {
    return { op: 'u', t, id, p }
  }

  removal({ t, id }: RecordName): Op {
    return { op: 'd', t, id }
  }

  tx(ops: readonly Op[], more: Partial<Tx> = {}): Tx {
    return { id: this.run.ids.next(), since: this.offer.position, ops, ...more }
  }

  /** Sends transactions in one request, and reads the answer. */
  decide(txs: readonly Tx[], as: User = 'token'): Promise<TxAnswer> {
    return this.resultsOf(
      { txs },
      txs.map(({ id }) => id),
      as,
    )
  }

  /** Sends a body that has to get results for the transactions `ids`. */
  async resultsOf(body: unknown, ids: readonly string[], as: User = 'token'): Promise<TxAnswer> {
    return this.read(await this.post(body, as), ids)
  }

  read(answer: Answer, ids: readonly string[]): TxAnswer {
    return readTxAnswer(answer, ids)
  }

  /** The result of one transaction. */
  async result(tx: Tx, as: User = 'token'): Promise<Result & { readonly exchange: Exchange }> {
    const { results, answer } = await this.decide([tx], as)
    const [result] = results
    if (!result) throw new NotHeld('There is a result for the transaction.', { exchange: answer.exchange })
    if (result.sid !== undefined) this.#written.set(as, Math.max(result.sid, this.#written.get(as) ?? 0))
    return { ...result, exchange: answer.exchange }
  }

  /** Sends a transaction that has to be accepted. */
  async write(ops: readonly Op[], more: Partial<Tx> = {}, as: User = 'token'): Promise<Accepted> {
    const result = await this.result(this.tx(ops, more), as)
    if (result.error)
      throw new NotHeld('The transaction is accepted.', {
        found: `It is ${result.error.code}.`,
        exchange: result.exchange,
      })
    return { id: result.id, sid: result.sid, exchange: result.exchange }
  }

  /** Sends a body to `POST /tx`, as it is. Notes which records it may make. */
  post(body: unknown, as: As = 'token'): Promise<Answer> {
    this.note(body, as)
    return this.wire.send({ path: '/tx', as, body: typeof body === 'string' ? body : JSON.stringify(body) })
  }

  /** Notes the records that `body` may make. */
  note(body: unknown, as: As): void {
    const { made } = this.run
    const user: User = as === 'other-token' ? as : 'token'
    const txs = isObject(body) && Array.isArray(body.txs) ? body.txs : []
    const ops = txs.flatMap((tx: unknown) => (isObject(tx) && Array.isArray(tx.ops) ? tx.ops : []))
    for (const op of ops) if (isObject(op) && op.op !== 'd') made.add(op, user)
  }

  /** The position of a snapshot, whatever its rows are. */
  async position(): Promise<number> {
    const { json } = await this.get('/bootstrap')
    return isObject(json) && typeof json.sid === 'number' ? json.sid : 0
  }

  /**
   * Throws a {@link NotHeld} if one of the records is in a snapshot, or in a delta after `before`. Reads what it can:
   * other checks are about the form of rows and frames.
   */
  async holdNoTrace(records: readonly RecordName[], before: number, expected: string): Promise<void> {
    const ids = new Set(records.map(({ id }) => id))
    for (const path of ['/bootstrap', `/delta?since=${before}`]) {
      const { json } = await this.get(path)
      const { rows, frames } = isObject(json) ? json : {}
      const changes: readonly unknown[] = [rows, frames].flatMap((list) => (Array.isArray(list) ? list : []))
      const trace = changes.find((change) => isObject(change) && ids.has(String(change.id)))
      this.hold(
        trace === undefined,
        expected,
        trace === undefined ? undefined : `There is ${JSON.stringify(trace).slice(0, 300)}.`,
      )
    }
  }

  // Sockets

  async open(options: OpenOptions = {}): Promise<Opening> {
    const opening = await openSocket(this.wire, options)
    if (opening.listener) this.#listeners.push(opening.listener)
    return opening
  }

  /** A socket that has to open. */
  async listen(as: User = 'token'): Promise<Listener> {
    const where = this.offer.scheme === 'api-key' ? 'header' : 'query'
    const { status, listener, exchange } = await this.open({ as, where })
    if (!listener) throw new NotHeld('The socket opens.', { found: `The status is ${status}.`, exchange })
    return listener
  }
}
