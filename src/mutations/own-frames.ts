import type { DeltaFrame, DeltaMessage } from '../protocol/delta.ts'
import { applyOp, keyOf, over, type RowSource, rowKey } from '../protocol/fold.ts'
import { applyTxOp } from '../protocol/remaining-op.ts'
import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Effect } from './inverse.ts'
import type { LocalTransaction } from './transaction.ts'

/** A confirmed frame, and its record before and after it. */
interface SeenFrame {
  readonly frame: DeltaFrame
  before: WireRow | undefined
  readonly after: WireRow | undefined
}

/**
 * The confirmed frames on the records of sent transactions. They show the effect of a transaction whose frames do not
 * name it, and which may arrive before its result.
 */
export class OwnFrames {
  /** By the key of the record, in order. */
  readonly #seen = new Map<string, SeenFrame[]>()
  #unknownTo = Number.NEGATIVE_INFINITY
  #hasTx = false
  #areRows = false

  /** The changes up to this position have arrived as whole rows, not as frames. */
  get unknownTo(): number {
    return this.#unknownTo
  }

  /** Whether a frame of this history has named a transaction. */
  get hasTx(): boolean {
    return this.#hasTx
  }

  /** Whether deltas have whole rows, which show no removal. */
  get areRows(): boolean {
    return this.#areRows
  }

  /** The data was replaced by that of the position `sid`. */
  lose(sid: number, isOtherHistory = false): void {
    this.#seen.clear()
    this.#unknownTo = sid
    if (isOtherHistory) this.#hasTx = false
  }

  /**
   * Notes the `confirmed` frames of `delta` whose record is `awaited`. `rows`: the confirmed rows before them.
   */
  note(
    { kind, sid, frames }: DeltaMessage,
    confirmed: readonly DeltaFrame[],
    rows: RowSource,
    isAwaited: (key: string) => boolean,
  ): void {
    this.#hasTx ||= frames.some(({ tx }) => tx !== undefined)
    this.#areRows ||= kind === 'row'
    for (const key of this.#seen.keys()) if (!isAwaited(key)) this.#seen.delete(key)
    if (kind === 'row' && confirmed.length > 0) {
      this.lose(sid)
      return
    }
    const now = new Map<string, WireRow | undefined>()
    for (const frame of confirmed) {
      const key = keyOf(frame)
      if (!isAwaited(key)) continue
      const before = over(now, rows).of(frame.t).get(frame.id)
      const after = applyOp(before, frame)
      now.set(key, after)
      const seen = this.#seen.get(key) ?? []
      this.#seen.set(key, seen)
      // Frames that name their transactions matter only as the last of the record.
      if (frame.tx !== undefined && seen.at(-1)?.frame.tx !== undefined) seen.pop()
      seen.push({ frame, before, after })
    }
  }

  /**
   * Whether the last change of a record was one of the transaction, whose last change has the position `sid`. `v`: the
   * version of the row. Servers number versions by the `sid` of the change, or from 1.
   */
  isLast(
    { id, record: { ops } }: LocalTransaction,
    sid: number,
    key: string,
    v: number | undefined,
  ): boolean {
    const isOwn = (at: number | undefined) => at !== undefined && at > sid - ops.length && at <= sid
    const { frame } = this.#seen.get(key)?.at(-1) ?? {}
    if (frame) return frame.tx === id || (frame.tx === undefined && isOwn(frame.sid))
    return sid === this.#unknownTo || isOwn(v) || (v === 1 && opsOn(ops, key).some(({ op }) => op === 'i'))
  }

  /**
   * The effects of a transaction whose last change has the position `sid` and whose frames do not name it: as many
   * frames as it has ops, backwards from the one at `sid`. `undefined` if there is none at `sid`.
   */
  effectsOf({ record: { ops, sent = ops } }: LocalTransaction, sid: number): readonly Effect[] | undefined {
    const own = Array.from(recordsOf(sent), ([key, record]) => {
      const seen = this.#seen.get(key) ?? []
      const upTo = seen.filter(({ frame }) => frame.tx === undefined && frame.sid <= sid)
      const next = seen.find(({ frame }) => frame.sid > sid)
      return { key, record, frames: upTo.slice(-opsOn(sent, key).length), next }
    })
    const isSeen = own.some(({ frames }) => frames.at(-1)?.frame.sid === sid)
    const effects = own.flatMap(({ key, record, frames, next }): readonly Effect[] => {
      const [first] = frames
      if (!isSeen || !first) {
        // The delta has left its frame out, because the next one replaces it.
        if (next) next.before = opsOn(sent, key).reduce(applyTxOp, next.before)
        return []
      }
      const written = opsOn(ops, key)
      // The server adds a record only if there is none.
      const base = written[0]?.op === 'i' && !written[0].put ? undefined : first.before?.p
      return [{ ...record, base, mine: frames.at(-1)?.after?.p, isWhole: true, ops: written }]
    })
    return effects.length > 0 ? effects : undefined
  }
}

/** The records of `ops`, by their keys. */
export function recordsOf(ops: readonly TxOp[]) {
  return new Map(ops.map(({ t, id }) => [rowKey(t, id), { t, id }]))
}

/** The ops of a transaction on the record of `key`. */
export function opsOn(ops: readonly TxOp[], key: string): readonly TxOp[] {
  return ops.filter((op) => keyOf(op) === key)
}
