import type { RowChange } from '../protocol/fold.ts'
import type { Replica } from '../replica/replica.ts'
import type { RecordChange } from '../session/events.ts'

/** The records that `changes` are about, as they are before; what it gives, called after, joins what they became. */
export function recordChanges(
  replica: Replica,
  changes: readonly RowChange[],
): () => readonly RecordChange[] {
  const before = changes.map(({ t, id }) => replica.get(t, id))
  return () =>
    changes.map(({ t, id, at }, index) => ({
      t,
      id,
      before: before[index],
      after: replica.get(t, id),
      ...(at === undefined ? undefined : { at }),
    }))
}
