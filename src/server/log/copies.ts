import type { JsonValue, Payload } from '../../protocol/json.ts'
import { ModelChecks } from './check-model.ts'
import { bytesOf } from './check-size.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * The maximum total length, in bytes of JSON, of the records that {@link Copies.countWhole} counts. A log in a database
 * has the same limit for the records that a transaction changes.
 */
const maxWholeBytes = 16 * 1_048_576

interface Copy {
  readonly p: { [field: string]: JsonValue }
  /** The length in bytes of JSON; `undefined` until the first change. */
  bytes: number | undefined
}

/** The result of merging fields into a payload. */
export interface Merged {
  readonly p: Payload
  /** The payload before and after the merge, or its length in bytes of JSON if that is known. */
  readonly was: Payload | number | undefined
  readonly is: Payload | number
}

/**
 * The copies of payloads that one write makes. Nothing else refers to a copy before the write is done. So a payload is
 * copied once, however many ops change it, and each op costs only its own fields.
 */
export class Copies {
  /** The model checks of the write. Run them after the last op. */
  readonly checks = new ModelChecks()
  readonly #copies = new Map<Payload, Copy>()
  #wholeBytes = 0

  /** Removes the fields of `unset` from `p`, then sets `fields`. */
  merge(p: Payload | undefined, fields: Payload, unset: readonly string[] = []): Merged {
    const copy = p && this.#copies.get(p)
    if (!copy) {
      const merged = { ...p }
      for (const field of unset) delete merged[field]
      Object.assign(merged, fields)
      this.#copies.set(merged, { p: merged, bytes: undefined })
      return { p: merged, was: p, is: merged }
    }
    const was = copy.bytes ?? bytesOf(copy.p)
    copy.bytes = was
    for (const field of unset) copy.bytes -= remove(copy.p, copy.bytes, field)
    for (const [field, value] of Object.entries(fields)) copy.bytes += put(copy.p, copy.bytes, field, value)
    return { p: copy.p, was, is: copy.bytes }
  }

  /**
   * Counts the whole record `p`, which an update sends because it removes fields. Throws a WriteRejectedError of reason
   * `too_large` if the counted records are too long together: otherwise, a short transaction could fill the memory.
   */
  countWhole(p: Payload): void {
    this.#wholeBytes += bytesOf(p)
    if (this.#wholeBytes <= maxWholeBytes) return
    const message = `The records whose fields are removed are longer than ${maxWholeBytes} bytes in total.`
    throw new WriteRejectedError('too_large', message)
  }

  /** Marks `p` as shared: the next merge makes another copy. */
  share(p: Payload): void {
    this.#copies.delete(p)
  }
}

/** Sets a field of `p`, whose length is `bytes`, and returns by how many bytes `p` has grown. */
function put(p: Copy['p'], bytes: number, field: string, value: JsonValue): number {
  const before = Object.hasOwn(p, field) ? p[field] : undefined
  p[field] = value
  if (before !== undefined) return bytesOf(value) - bytesOf(before)
  const comma = bytes > '{}'.length ? 1 : 0
  return bytesOf(field) + ':'.length + bytesOf(value) + comma
}

/** Removes a field of `p`, whose length is `bytes`, and returns by how many bytes `p` has shrunk. */
function remove(p: Copy['p'], bytes: number, field: string): number {
  const before = Object.hasOwn(p, field) ? p[field] : undefined
  if (before === undefined) return 0
  delete p[field]
  const length = bytesOf(field) + ':'.length + bytesOf(before)
  return bytes > length + '{}'.length ? length + 1 : length
}
