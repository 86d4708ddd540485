/** The wire as the interface document gives it. Written down again here, so that nothing of `src` is taken for granted. */
export interface BareRow {
  readonly t: string
  readonly id: string
  readonly v: number
  readonly p: BareFields
}

export type BareFields = { readonly [field: string]: unknown }

export interface BareFrame {
  readonly sid: number
  readonly t: string
  readonly id: string
  readonly op: 'i' | 'u' | 'd'
  readonly p?: BareFields
  readonly at?: number
}

export type BareOp =
  | { readonly op: 'i' | 'u'; readonly t: string; readonly id: string; readonly p: BareFields }
  | { readonly op: 'd'; readonly t: string; readonly id: string }

/** A frame, and whose it is. */
export interface OwnedFrame {
  readonly owner: string
  readonly frame: BareFrame
}

export interface BareWriteOptions {
  /** All frames of the write carry one `sid`. @default false */
  readonly sharedSid?: boolean
}

/** What a backup keeps. */
export interface BareBackup {
  readonly sid: number
  readonly rows: ReadonlyMap<string, BareRow>
  readonly log: readonly OwnedFrame[]
}

/** Rows, and the log of what made them. A row belongs to whoever its field `userId` names. */
export class BareData {
  #sid = 0
  #rows = new Map<string, BareRow>()
  #log: OwnedFrame[] = []

  /** The highest `sid` given. */
  get sid(): number {
    return this.#sid
  }

  /**
   * Does `ops` without judging them, an update of nothing included, and gives their frames. What is written belongs
   * to `owner` unless an op sets `userId`; a row that changes hands is a `d` for one and an `i` for the other.
   */
  write(owner: string, ops: readonly BareOp[], at: number, { sharedSid = false }: BareWriteOptions = {}) {
    const written: OwnedFrame[] = []
    if (sharedSid) this.#sid += 1
    const add = (to: string, change: Omit<BareFrame, 'sid' | 'at'>) => {
      if (!sharedSid) this.#sid += 1
      written.push({ owner: to, frame: { sid: this.#sid, ...change, at } })
    }
    for (const op of ops) {
      const { t, id } = op
      const key = JSON.stringify([t, id])
      const before = this.#rows.get(key)
      const after = op.op === 'd' ? undefined : merged(owner, before, op)
      if (after && (before || op.op === 'i')) this.#rows.set(key, after)
      else this.#rows.delete(key)
      const from = before && ownerOf(before)
      if (after === undefined || op.op === 'd') {
        add(from ?? owner, { t, id, op: 'd' })
        continue
      }
      const to = ownerOf(after)
      const moved = from !== undefined && from !== to
      if (moved) add(from, { t, id, op: 'd' })
      const whole = moved || op.op === 'i'
      add(to, { t, id, op: whole ? 'i' : 'u', p: whole ? after.p : op.p })
    }
    this.#log.push(...written)
    return written
  }

  rows(owner: string): BareRow[] {
    return [...this.#rows.values()].filter((row) => ownerOf(row) === owner)
  }

  framesSince(owner: string, since: number): BareFrame[] {
    return this.#log
      .filter((entry) => entry.owner === owner && entry.frame.sid > since)
      .map((entry) => entry.frame)
  }

  backup(): BareBackup {
    return { sid: this.#sid, rows: new Map(this.#rows), log: [...this.#log] }
  }

  /** Goes back to what `backup` kept: the next `sid` is one that was given before. */
  restore({ sid, rows, log }: BareBackup): void {
    this.#sid = sid
    this.#rows = new Map(rows)
    this.#log = [...log]
  }
}

function merged(owner: string, before: BareRow | undefined, op: BareOp & { op: 'i' | 'u' }): BareRow {
  const base = op.op === 'u' && before ? before.p : { userId: owner }
  return { t: op.t, id: op.id, v: (before?.v ?? 0) + 1, p: { ...base, ...op.p } }
}

function ownerOf({ p: { userId } }: BareRow): string {
  return String(userId)
}
