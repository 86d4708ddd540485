import { brokenBy, check, sentenceOf } from '../../models/check.ts'
import type { Models } from '../../models/models.ts'
import { rowKey } from '../../protocol/fold.ts'
import type { Payload } from '../../protocol/json.ts'
import type { TxOp } from '../../protocol/tx.ts'
import { WriteRejectedError } from './rejection.ts'

/** Verdicts are kept, and a list of what is no text breaks a model at each item. */
const maxIssues = 20

/** What a write makes of a record. */
interface Made {
  readonly models: Models
  readonly t: string
  readonly id: string
  /** What was there, unless it was replaced. */
  readonly before: Payload | undefined
  readonly written: { [field: string]: Payload[string] }
  after: Payload
}

/** The records that one write makes, each to be checked once, however many ops make it: a schema looks at all of it. */
export class ModelChecks {
  readonly #made = new Map<string, Made>()

  /** `op` makes `after` of the record `before`, both of which may be changed in place by ops that follow. */
  add(
    models: Models | undefined,
    op: Exclude<TxOp, { op: 'd' }>,
    before: Payload | undefined,
    after: Payload,
  ): void {
    if (!models) return
    const { t, id } = op
    const isUpdate = op.op === 'u'
    const earlier = isUpdate ? this.#made.get(rowKey(t, id)) : undefined
    const made = earlier ?? { models, t, id, before: isUpdate ? before : undefined, written: {}, after }
    Object.assign(made.written, op.p)
    made.after = after
    this.#made.set(rowKey(t, id), made)
  }

  /** The record is there no longer. */
  remove({ t, id }: TxOp): void {
    this.#made.delete(rowKey(t, id))
  }

  /**
   * Throws a WriteRejectedError of reason `invalid`, whose details name the first fields, for a record that the write has
   * left breaking its model, as {@link brokenBy} says.
   */
  run(): void {
    for (const { models, t, id, before, written, after } of this.#made.values()) {
      const found = check(models, t, after)
      const had = found.length > 0 && before ? check(models, t, before) : []
      const issues = brokenBy(written, found, had)
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
