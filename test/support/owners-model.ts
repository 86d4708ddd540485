import type { Payload } from '../../src/protocol/json.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import type { Fact } from './oracle.ts'

/** The field that names the owner. */
export const ownerField = 'owner'

/** What a change makes of a record, and who sees it before and after. */
interface Entry {
  readonly sid: number
  readonly id: string
  readonly owner: string
  readonly frame: { readonly op: 'i' | 'u' | 'd'; readonly id: string; readonly p?: Payload }
}

type Records = ReadonlyMap<string, Fact>

/**
 * What several owners see, told from what was asked for alone: which transactions are accepted, what is there after
 * each change, and which frames each owner may get.
 */
export class OwnersModel {
  head = 0
  readonly entries: Entry[] = []
  /** The records after each sid. */
  readonly #states: Records[] = [new Map()]

  /**
   * Does `ops` for a caller with `owners`, or for the service. Returns the code of the rejection, after which nothing
   * has changed.
   */
  write(ops: readonly TxOp[], owners: readonly string[] | undefined): string | undefined {
    const before = { head: this.head, entries: this.entries.length }
    for (const op of ops) {
      const code = this.#apply(op, owners)
      if (code === undefined) continue
      this.head = before.head
      this.entries.length = before.entries
      this.#states.length = before.head + 1
      return code
    }
    return undefined
  }

  visibleTo(owners: readonly string[]): Fact[] {
    return [...this.#records.values()]
      .filter(({ p }) => owners.includes(String(p[ownerField])))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** The ids of the records that `owners` see all the time from `since` until `end`. */
  steady(owners: readonly string[], since: number, end: number): readonly string[] {
    const states = this.#states.slice(since, end + 1)
    const ids = [...(states[0]?.keys() ?? [])]
    const isSeen = (id: string) => (state: Records) => {
      const fact = state.get(id)
      return fact !== undefined && owners.includes(String(fact.p[ownerField]))
    }
    return ids.filter((id) => states.every(isSeen(id)))
  }

  get #records(): Records {
    return this.#states[this.head] ?? new Map()
  }

  #apply(op: TxOp, owners: readonly string[] | undefined): string | undefined {
    const found = this.#records.get(op.id)
    const sees = (owner: unknown) => owners === undefined || owners.some((own) => own === owner)
    const own = found && sees(found.p[ownerField]) ? found : undefined
    if (op.op === 'd') {
      if (own) this.#note([['d', own]], op.id, undefined)
      return undefined
    }
    const named = op.p[ownerField]
    if (named !== undefined && !sees(named)) return 'forbidden'
    if (op.op === 'u') {
      if (!own) return 'not_found'
      return this.#put({ ...own, p: { ...own.p, ...op.p } }, own, op.p)
    }
    if (found && !(own && op.put)) return 'exists'
    const owner = named ?? own?.p[ownerField] ?? owners?.[0]
    if (owner === undefined) return owners ? 'forbidden' : 'invalid'
    return this.#put({ t: op.t, id: op.id, p: { ...op.p, [ownerField]: owner } }, own, undefined)
  }

  #put(fact: Fact, before: Fact | undefined, changed: Payload | undefined): undefined {
    const isMoved = before !== undefined && before.p[ownerField] !== fact.p[ownerField]
    if (changed && !isMoved) this.#note([['u', { ...fact, p: changed }]], fact.id, fact)
    else if (isMoved)
      this.#note(
        [
          ['d', before],
          ['i', fact],
        ],
        fact.id,
        fact,
      )
    else this.#note([['i', fact]], fact.id, fact)
  }

  /** Each frame takes a sid; the record is as `after` from the first of them on. */
  #note(frames: readonly (readonly ['i' | 'u' | 'd', Fact])[], id: string, after: Fact | undefined): void {
    const records = new Map(this.#records)
    if (after) records.set(id, after)
    else records.delete(id)
    const now = after ?? frames[0]?.[1]
    for (const [op, { p }] of frames) {
      this.head += 1
      const owner = String((op === 'u' ? now?.p : p)?.[ownerField])
      this.entries.push({ sid: this.head, id, owner, frame: op === 'd' ? { op, id } : { op, id, p } })
      this.#states[this.head] = records
    }
  }
}
