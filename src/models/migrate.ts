import type { WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Migration, Models } from './models.ts'

type Shape = Pick<Models, 'version' | 'migrate'>

/** `row` of the shape `from` as the models have it now. Throws where it cannot be migrated. */
export function migrateRow(models: Shape, from: number, row: WireRow): WireRow {
  return migrate(models, from, row, ({ row: step }) => step)
}

/** `op` of the shape `from` as the models have it now. Throws where it cannot be migrated. */
export function migrateOp(models: Shape, from: number, op: TxOp): TxOp {
  return migrate(models, from, op, ({ op: step }) => step)
}

function migrate<T extends { readonly t: string; readonly id: string }>(
  { version, migrate: steps }: Shape,
  from: number,
  value: T,
  stepOf: (migration: Migration) => ((value: T) => T | undefined) | undefined,
): T {
  let now = value
  for (let to = from + 1; to <= version; to += 1) {
    const step = stepOf(steps[to] ?? {})
    const next = step ? step(now) : now
    if (!next) throw new Error(`${now.t} ${now.id} cannot be migrated to version ${to}.`)
    now = next
  }
  return now
}
