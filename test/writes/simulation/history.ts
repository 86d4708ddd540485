import type { JsonValue } from '../../../src/protocol/json.ts'
import type { TxOp } from '../../../src/protocol/tx.ts'
import { Oracle } from '../../support/oracle.ts'

/** Records by type and id. */
export interface Shown {
  readonly [key: string]: Readonly<Record<string, unknown>>
}

export interface Write {
  readonly ops: readonly TxOp[]
  readonly sid: number
  /** Of a transaction. */
  readonly by?: { readonly id: string; readonly owner: string }
}

/** All that the service accepted, in order, and what was true of a user's data at each position; told plainly. */
export class History {
  /** The `sid` of each transaction. */
  readonly accepted = new Map<string, number>()
  readonly #oracle = new Oracle()
  readonly #writes: Write[] = []
  readonly #truths: { readonly sid: number; readonly of: ReadonlyMap<string, Shown> }[] = []
  readonly #users: readonly string[]

  constructor(users: readonly string[]) {
    this.#users = users
  }

  add(write: Write): void {
    const { ops, sid, by } = write
    this.#writes.push(write)
    if (by) this.accepted.set(by.id, sid)
    for (const op of ops) {
      if (!by) this.#oracle.write([op])
      else if (op.op === 'i') this.#oracle.write([{ ...op, p: { ...op.p, userId: by.owner } }])
      else if (this.#ownerOf(op) === by.owner) this.#oracle.write([op])
    }
    this.#truths.push({ sid, of: new Map(this.#users.map((user) => [user, this.#visibleTo(user)])) })
  }

  has(t: string, id: string): boolean {
    return this.#oracle.get(t, id) !== undefined
  }

  /** What is true for `user` at the position `sid`. */
  truthAt(user: string, sid: number): Shown {
    return this.#truths.findLast((truth) => truth.sid <= sid)?.of.get(user) ?? {}
  }

  /** Whether it ever was true for `user`, by `isIt`. */
  had(user: string, isIt: (truth: Shown) => boolean): boolean {
    return isIt({}) || this.#truths.some(({ of }) => isIt(of.get(user) ?? {}))
  }

  /** The transactions and other writes that changed the record after `sid`; `undefined` for one of the service's own. */
  changesOf({ t, id }: TxOp, sid: number): readonly (string | undefined)[] {
    const changes = ({ ops }: Write) => ops.some((op) => op.t === t && op.id === id)
    return this.#writes.filter((write) => write.sid > sid && changes(write)).map(({ by }) => by?.id)
  }

  /** Whether the record's field had this value when the transaction was accepted, or at some time after it. */
  saidSince(tx: string, user: string, key: string, field: string, value: unknown): boolean {
    const sid = this.accepted.get(tx)
    if (sid === undefined) return false
    return this.#truths.some((truth) => truth.sid >= sid && truth.of.get(user)?.[key]?.[field] === value)
  }

  #ownerOf({ t, id }: TxOp): JsonValue | undefined {
    return this.#oracle.get(t, id)?.p.userId
  }

  #visibleTo(user: string): Shown {
    return Object.fromEntries(
      this.#oracle.visibleTo(user).map(({ t, id, p }) => [`${t} ${id}`, { ...p, id }]),
    )
  }
}
