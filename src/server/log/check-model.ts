import { check, type ModelIssue } from '../../models/check.ts'
import type { Models } from '../../models/models.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Throws a WriteRejectedError of reason `invalid`, whose details name the fields, where `op` would leave a record that
 * breaks its model. What a `u` neither writes nor breaks does not count: an old record can be mended field by field.
 */
export function checkModel(
  models: Models | undefined,
  op: Exclude<TxOp, { op: 'd' }>,
  before: Payload | undefined,
  after: Payload,
): void {
  if (!models) return
  const { t, id } = op
  const found = check(models, t, after)
  if (found.length === 0) return
  const had = new Set(op.op === 'u' && before ? check(models, t, before).map(keyOf) : [])
  const isWritten = ({ path: [field] }: ModelIssue) => field !== undefined && Object.hasOwn(op.p, field)
  const issues = found.filter((issue) => isWritten(issue) || !had.has(keyOf(issue)))
  const [first] = issues
  if (!first) return
  const details = { issues: issues.map(({ path, message }) => ({ t, id, field: path.join('.'), message })) }
  throw new WriteRejectedError('invalid', `The ${t} ${id} breaks its model: ${first.message}`, details)
}

function keyOf({ path, message }: ModelIssue): string {
  return JSON.stringify([path, message])
}
