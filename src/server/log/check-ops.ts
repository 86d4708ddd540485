import { wrongOption } from '../../base/errors.ts'
import { copyPayload, isStorableName, maxNameLength } from '../../protocol/json-copy.ts'
import { txOpSchema } from '../../protocol/schema/tx.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Copies of `ops`, safe to keep and to send. Throws a WriteRejectedError of reason `invalid` for an op that is none,
 * for one that nests deeper than the protocol allows, for a value that JSON would change, and for text that not every
 * database can hold: so all logs refuse the same. Throws a ConfigurationError where `ops` is no array.
 */
export function checkOps(ops: readonly unknown[]): TxOp[] {
  if (!Array.isArray(ops)) throw wrongOption('ops', 'must be an array of ops.')
  return ops.map((op, index) => {
    const { success, data } = txOpSchema.safeParse(op)
    if (!success)
      throw invalid(index, 'is no op with a type `t`, an `id` and, unless it is a `d`, fields `p`')
    if (!isStorableName(data.t) || !isStorableName(data.id)) {
      throw invalid(
        index,
        `has a type or id of more than ${maxNameLength} characters, or that cannot be stored`,
      )
    }
    if (data.op === 'd') return data
    const copied = copyPayload(data.p)
    if ('payload' in copied) return { ...data, p: copied.payload }
    const { path, what } = copied.fault
    throw invalid(index, `cannot be stored: ${path === '' ? 'p' : `p.${path}`} ${what}`)
  })
}

function invalid(index: number, what: string): WriteRejectedError {
  return new WriteRejectedError('invalid', `The op at ${index} ${what}.`, { op: index })
}
