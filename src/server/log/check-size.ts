import type { JsonValue, Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/** The default equals the default of `maxBodyBytes`, so that a client can always write a record as a whole. */
export const defaultRecordBytes = 1_048_576

/** A client accepts rows of up to 16 MiB. This leaves room for names and white space. */
export const maxRecordBytes = 15 * 1_048_576

/**
 * Throws a WriteRejectedError of reason `too_large` if `op` would leave fields above `maxBytes`: no client could read
 * the record, nor the rows after it. A record that is too long already may get shorter. `before` and `after` are
 * payloads, or their lengths in bytes.
 */
export function checkSize(
  maxBytes: number,
  op: Pick<TxOp, 't' | 'id'>,
  before: Payload | number | undefined,
  after: Payload | number,
): void {
  if (!isTooLong(after, maxBytes)) return
  if (before !== undefined && isTooLong(before, lengthOf(after))) return
  throw new WriteRejectedError('too_large', `The ${op.t} ${op.id} would be longer than ${maxBytes} bytes.`)
}

/**
 * Whether `p` is longer than `maxBytes` as JSON in UTF-8. A UTF-16 unit takes at most 3 bytes, so most payloads need no
 * encoding.
 */
export function isTooLong(p: object | number, maxBytes: number): boolean {
  if (typeof p === 'number') return p > maxBytes
  return JSON.stringify(p).length * 3 > maxBytes && bytesOf(p) > maxBytes
}

/** The length of `value` as JSON in UTF-8, in bytes. */
export function bytesOf(value: JsonValue | object): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

function lengthOf(p: Payload | number): number {
  return typeof p === 'number' ? p : bytesOf(p)
}
