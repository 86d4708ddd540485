import { StorageError, toError } from '../base/errors.ts'
import { isOp } from '../protocol/fold.ts'
import { isSid } from '../protocol/guards.ts'
import { readRow, type WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Migration, Models } from './models.ts'

/** In which shape the types are, and what leads to it. */
export type Shape = Pick<Models, 'version' | 'migrate'>

/** `row` of the shape `from` as the models have it now. Throws a StorageError where it cannot be migrated. */
export function migrateRow(models: Shape, from: number, row: WireRow): WireRow {
  return migrate(models, from, row, ({ row: step }) => step, rowIn)
}

/** `op` of the shape `from` as the models have it now. Throws a StorageError where it cannot be migrated. */
export function migrateOp(models: Shape, from: number, op: TxOp): TxOp {
  return migrate(models, from, op, ({ op: step }) => step, opIn)
}

/** What a step gives is checked: it may be written in plain JavaScript. */
function migrate<T extends { readonly t: string; readonly id: string }>(
  { version, migrate: steps }: Shape,
  from: number,
  value: T,
  stepOf: (migration: Migration) => ((value: T) => unknown) | undefined,
  given: (value: unknown) => T | undefined,
): T {
  let now = value
  for (let to = from + 1; to <= version; to += 1) {
    const step = stepOf(steps[to] ?? {})
    if (!step) continue
    const what = `${now.t} ${now.id} cannot be migrated to version ${to}`
    let result: unknown
    try {
      result = step(now)
    } catch (cause) {
      throw new StorageError('unreadable', `${what}: ${toError(cause).message}`, { cause })
    }
    const next = given(result)
    if (!next) {
      // Should a promise reject, nobody else would hear it.
      Promise.resolve(result).catch(() => {})
      throw new StorageError('unreadable', `${what}.`)
    }
    now = next
  }
  return now
}

function rowIn(value: unknown): WireRow | undefined {
  const row = readRow(value)
  return typeof row === 'string' ? undefined : row
}

function opIn(value: unknown): TxOp | undefined {
  return isTxOp(value) ? value : undefined
}

function isTxOp(value: unknown): value is TxOp {
  if (!isOp(value)) return false
  const { put = false, unchangedSince = 0 } = value
  return typeof put === 'boolean' && isSid(unchangedSince)
}
