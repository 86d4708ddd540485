import { wrongOption } from '../../base/errors.ts'
import type { Payload } from '../../protocol/json.ts'
import { copyPayload, isStorable, isStorableName, maxNameLength } from '../../protocol/json-copy.ts'
import { txOpSchema } from '../../protocol/schema/tx.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Returns copies of `ops` that can be stored and sent. Throws a WriteRejectedError of reason `invalid` for an invalid
 * op, for nesting deeper than the protocol allows, for values that JSON would change, and for text that some database
 * cannot store: so all logs refuse the same ops. Throws a ConfigurationError if `ops` is not an array.
 */
export function checkOps(ops: readonly unknown[]): TxOp[] {
  if (!Array.isArray(ops)) throw wrongOption('ops', 'must be an array of ops.')
  return ops.map((op, index) => {
    const { success, data } = txOpSchema.safeParse(op)
    if (!success)
      throw invalid(index, 'is not valid: an op has a type `t`, an `id` and, except for `d`, fields `p`')
    if (!isStorableName(data.t) || !isStorableName(data.id)) {
      throw invalid(
        index,
        `has a type or id of more than ${maxNameLength} characters, or that cannot be stored`,
      )
    }
    const stored = (part: 'p' | 'was', fields: Payload) => {
      const copied = copyPayload(fields)
      if ('payload' in copied) return copied.payload
      const { path, what } = copied.fault
      throw invalid(index, `cannot be stored: ${path === '' ? part : `${part}.${path}`} ${what}`)
    }
    if (data.was !== undefined && (data.unchangedSince !== undefined || (data.op === 'i' && data.put))) {
      throw invalid(index, 'has `was`, and also `put` or `unchangedSince`')
    }
    if (data.op === 'i') {
      const { restores, was, p } = data
      if (restores !== undefined && !(was === null && isStorable(restores) && Object.keys(p).length === 0)) {
        throw invalid(index, 'has `restores`, and no `was`, or also fields in `p`')
      }
      return { ...data, p: stored('p', p) }
    }
    const was = data.was && { was: stored('was', data.was) }
    if (data.op === 'd') return { ...data, ...was }
    const unset = new Set(data.unset)
    const p = stored('p', data.p)
    if ([...unset].some((field) => !isStorable(field) || Object.hasOwn(p, field))) {
      throw invalid(index, 'has a field in `unset` that is also in `p`, or that cannot be stored')
    }
    if (was && Object.keys(was.was).some((field) => !Object.hasOwn(p, field) && !unset.has(field))) {
      throw invalid(index, 'has a field in `was` that is neither in `p` nor in `unset`')
    }
    return { ...data, p, ...was }
  })
}

function invalid(index: number, what: string): WriteRejectedError {
  return new WriteRejectedError('invalid', `The op at ${index} ${what}.`, { op: index })
}
