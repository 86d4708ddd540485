import { brokenBy, check, type ModelIssue } from '../../models/check.ts'
import type { Models } from '../../models/models.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Throws a WriteRejectedError of reason `invalid`, whose details name the fields, where `op` would leave a record that
 * breaks its model by it, as {@link brokenBy} says. `known` keeps what was wrong with a payload that may have been changed in
 * place since, as the write has left it last.
 */
export function checkModel(
  models: Models | undefined,
  op: Exclude<TxOp, { op: 'd' }>,
  before: Payload | undefined,
  after: Payload,
  known: Map<Payload, readonly ModelIssue[]>,
): void {
  if (!models) return
  const { t, id } = op
  const found = check(models, t, after)
  const had =
    found.length > 0 && op.op === 'u' && before ? (known.get(before) ?? check(models, t, before)) : []
  known.set(after, found)
  const issues = brokenBy(op.p, found, had)
  const [first] = issues
  if (!first) return
  const details = { issues: issues.map(({ path, message }) => ({ t, id, field: path.join('.'), message })) }
  throw new WriteRejectedError('invalid', `The ${t} ${id} breaks its model: ${first.message}`, details)
}
