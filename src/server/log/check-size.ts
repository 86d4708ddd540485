import type { JsonValue, Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/** As much as one request may write, so that whatever there is can be written whole. */
export const defaultRecordBytes = 1_048_576

/** A client takes a row of 16 MiB at most, with its names and the white space around it. */
export const maxRecordBytes = 15 * 1_048_576

/**
 * Throws a WriteRejectedError of reason `too_large` where `op` would leave fields that are too long: no client could
 * take the record, nor what stands behind it. Those that are too long already may become shorter. Both are payloads, or
 * how long they are.
 */
export function checkSize(
  maxBytes: number,
  op: TxOp,
  before: Payload | number | undefined,
  after: Payload | number,
): void {
  if (!isTooLong(after, maxBytes)) return
  if (before !== undefined && isTooLong(before, lengthOf(after))) return
  throw new WriteRejectedError('too_large', `The ${op.t} ${op.id} would be longer than ${maxBytes} bytes.`)
}

/** Whether `p` is longer than `maxBytes` as JSON in UTF-8, where a UTF-16 unit is three bytes at most. */
export function isTooLong(p: object | number, maxBytes: number): boolean {
  if (typeof p === 'number') return p > maxBytes
  return JSON.stringify(p).length * 3 > maxBytes && bytesOf(p) > maxBytes
}

/** How long `value`, which is JSON, is in UTF-8. */
export function bytesOf(value: JsonValue | object): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

function lengthOf(p: Payload | number): number {
  return typeof p === 'number' ? p : bytesOf(p)
}
