import { StorageError, toError } from '../base/errors.ts'
import { isOp } from '../protocol/fold.ts'
import { isSid } from '../protocol/guards.ts'
import type { Payload } from '../protocol/json.ts'
import { readRow, type WireRow } from '../protocol/row.ts'
import type { TxOp } from '../protocol/tx.ts'
import type { Migration, Models } from './models.ts'

/** The version of the models and the migrations to it. */
export type MigrationPlan = Pick<Models, 'version' | 'migrate'>

/**
 * Migrates `row` from version `from` to the current version. Throws a StorageError of code `unreadable` if that fails.
 */
export function migrateRow(models: MigrationPlan, from: number, row: WireRow): WireRow {
  return migrate(models, from, row, ({ row: step }) => step, asRow)
}

/**
 * Migrates `op` from version `from` to the current version. Migrates the old values in its `was` as an update to these
 * values. Throws a StorageError of code `unreadable` if that fails.
 */
export function migrateOp(models: MigrationPlan, from: number, op: TxOp): TxOp {
  const migrated = (one: TxOp) => migrate(models, from, one, ({ op: step }) => step, asOp)
  const next = migrated(op)
  if (!op.was || next.op === 'i') return next
  const { t, id } = op
  const fieldsOf = (p: Payload): Payload => {
    const update = migrated({ op: 'u', t, id, p })
    return update.op === 'd' ? {} : update.p
  }
  const was = fieldsOf(op.was)
  if (op.op === 'd' || next.op === 'd' || !op.unset) return { ...next, was }
  const unset = Object.keys(fieldsOf(Object.fromEntries(op.unset.map((field) => [field, null]))))
  return { ...next, unset, was }
}

/** Runs the steps of a migration. Checks the result of each step, because a step may be written in plain JavaScript. */
function migrate<T extends { readonly t: string; readonly id: string }>(
  { version, migrate: steps }: MigrationPlan,
  from: number,
  value: T,
  stepOf: (migration: Migration) => ((value: T) => unknown) | undefined,
  read: (value: unknown) => T | undefined,
): T {
  let current = value
  for (let to = from + 1; to <= version; to += 1) {
    const step = stepOf(steps[to] ?? {})
    if (!step) continue
    const what = `${current.t} ${current.id} cannot be migrated to version ${to}`
    let result: unknown
    try {
      result = step(current)
    } catch (cause) {
      throw new StorageError('unreadable', `${what}: ${toError(cause).message}`, { cause })
    }
    const next = read(result)
    if (!next) {
      // The result may be a promise: handle its rejection.
      Promise.resolve(result).catch(() => {})
      throw new StorageError('unreadable', `${what}: the migration returned no valid row or op.`)
    }
    current = next
  }
  return current
}

function asRow(value: unknown): WireRow | undefined {
  const row = readRow(value)
  return typeof row === 'string' ? undefined : row
}

function asOp(value: unknown): TxOp | undefined {
  return isTxOp(value) ? value : undefined
}

function isTxOp(value: unknown): value is TxOp {
  if (!isOp(value)) return false
  const { put = false, unchangedSince = 0 } = value
  return typeof put === 'boolean' && isSid(unchangedSince)
}
