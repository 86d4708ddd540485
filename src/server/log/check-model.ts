import { causedIssues, issuesOf, sentenceOf } from '../../models/issues.ts'
import type { Models } from '../../models/models.ts'
import { rowKey } from '../../protocol/fold.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/** Limits the details of a rejection, since verdicts are stored and an invalid list can cause an issue per item. */
const maxIssues = 20

/** The result of a write for one record. */
interface ChangedRecord {
  readonly models: Models
  readonly t: string
  readonly id: string
  /** The fields before the write, unless the record was replaced. */
  readonly before: Payload | undefined
  readonly written: { [field: string]: Payload[string] }
  after: Payload
}

/**
 * The records that one write changes. Each is checked once after the last op, since a check costs a pass over the whole
 * record.
 */
export class ModelChecks {
  readonly #changed = new Map<string, ChangedRecord>()

  /** Registers that `op` changes the record from `before` to `after`. Later ops may modify both in place. */
  add(
    models: Models | undefined,
    op: Exclude<TxOp, { op: 'd' }>,
    before: Payload | undefined,
    after: Payload,
  ): void {
    if (!models) return
    const { t, id } = op
    const isUpdate = op.op === 'u'
    const earlier = isUpdate ? this.#changed.get(rowKey(t, id)) : undefined
    const entry = earlier ?? { models, t, id, before: isUpdate ? before : undefined, written: {}, after }
    Object.assign(entry.written, op.p)
    if (isUpdate) for (const field of op.unset ?? []) entry.written[field] = null
    entry.after = after
    this.#changed.set(rowKey(t, id), entry)
  }

  /** Skips the check of a record that is removed again. */
  remove({ t, id }: TxOp): void {
    this.#changed.delete(rowKey(t, id))
  }

  /**
   * Throws a WriteRejectedError of reason `invalid` for the first record whose new fields break its model, as
   * {@link causedIssues} says. `details` lists the first issues.
   */
  run(): void {
    for (const { models, t, id, before, written, after } of this.#changed.values()) {
      const found = issuesOf(models, t, after)
      const had = found.length > 0 && before ? issuesOf(models, t, before) : []
      const issues = causedIssues(written, found, had)
      const [first] = issues
      if (!first) continue
      const named = issues.slice(0, maxIssues)
      const details = {
        issues: named.map(({ path, message }) => ({ t, id, field: path.join('.'), message })),
      }
      throw new WriteRejectedError('invalid', `The ${sentenceOf(t, id, first)}`, details)
    }
  }
}
