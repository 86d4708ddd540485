import { check, checkUpdate } from '../../models/check.ts'
import type { Models } from '../../models/models.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/**
 * Throws a WriteRejectedError of reason `invalid`, whose details name the fields, where `op` would leave a record that
 * breaks its model; of a `u`, what counts by {@link checkUpdate}.
 */
export function checkModel(
  models: Models | undefined,
  op: Exclude<TxOp, { op: 'd' }>,
  before: Payload | undefined,
  after: Payload,
): void {
  if (!models) return
  const { t, id } = op
  const issues =
    op.op === 'u' && before
      ? checkUpdate(models, t, { before, written: op.p, after })
      : check(models, t, after)
  const [first] = issues
  if (!first) return
  const details = { issues: issues.map(({ path, message }) => ({ t, id, field: path.join('.'), message })) }
  throw new WriteRejectedError('invalid', `The ${t} ${id} breaks its model: ${first.message}`, details)
}
