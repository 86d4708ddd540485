import type { SyncFrame } from '../../src/protocol/frame.ts'
import type { Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'

export interface Fact {
  readonly t: string
  readonly id: string
  readonly p: Payload
}

/**
 * What is true, told as plainly as possible: all records, changed by one op after another. It is given only what the
 * server accepted.
 */
export class Oracle {
  readonly #facts = new Map<string, Fact>()
  readonly #ownerField: string

  constructor(ownerField = 'userId') {
    this.#ownerField = ownerField
  }

  /** A `put` without an owner leaves the record with its owner. */
  write(ops: readonly TxOp[]): void {
    for (const op of ops) {
      const key = keyOf(op)
      const before = this.#facts.get(key)
      if (op.op === 'd') this.#facts.delete(key)
      else if (op.op === 'i') {
        const owner = before && { [this.#ownerField]: before.p[this.#ownerField] ?? null }
        this.#facts.set(key, { t: op.t, id: op.id, p: { ...owner, ...op.p } })
      } else if (before) this.#facts.set(key, { ...before, p: { ...before.p, ...op.p } })
    }
  }

  get(t: string, id: string): Fact | undefined {
    return this.#facts.get(keyOf({ t, id }))
  }

  visibleTo(owner: string): Fact[] {
    return sorted([...this.#facts.values()].filter((fact) => fact.p[this.#ownerField] === owner))
  }
}

/**
 * A client that does what the interface document says about positions and frames, and nothing else: the least that a
 * server must be enough for.
 */
export class NaiveCopy {
  sid = 0
  readonly #facts = new Map<string, Fact>()

  bootstrap({ sid, rows }: { readonly sid: number; readonly rows: readonly WireRow[] }): void {
    this.#facts.clear()
    for (const { t, id, p } of rows) this.#facts.set(keyOf({ t, id }), { t, id, p })
    this.sid = sid
  }

  delta({ sid, frames }: { readonly sid: number; readonly frames: readonly SyncFrame[] }): void {
    for (const frame of frames) {
      const key = keyOf(frame)
      const before = this.#facts.get(key)
      if (frame.op === 'd') this.#facts.delete(key)
      else if (frame.op === 'i') this.#facts.set(key, { t: frame.t, id: frame.id, p: frame.p })
      else if (before) this.#facts.set(key, { ...before, p: { ...before.p, ...frame.p } })
      else throw new Error(`The frame ${frame.sid} updates ${key}, which is not there.`)
    }
    this.sid = sid
  }

  get facts(): Fact[] {
    return sorted([...this.#facts.values()])
  }
}

function sorted(facts: readonly Fact[]): Fact[] {
  return [...facts].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function keyOf({ t, id }: { readonly t: string; readonly id: string }): string {
  return JSON.stringify([t, id])
}
