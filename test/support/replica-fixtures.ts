import type { Index } from '../../src/models/model.ts'
import { type RowChange, reuse } from '../../src/protocol/fold.ts'
import type { Payload } from '../../src/protocol/json.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import { Replica, type ReplicaOptions } from '../../src/records/replica.ts'
import { VirtualClock } from './virtual.ts'

/** Of all tests of the replica that need no second one. */
export const t = 'Issue'

export function row(id: string, p: Payload = {}, v?: number): WireRow {
  return v === undefined ? { t, id, p } : { t, id, v, p }
}

/** A replica that notifies subscribers after each change, as an engine does in its commit. */
class NotifyingReplica extends Replica {
  override apply(...args: Parameters<Replica['apply']>): void {
    super.apply(...args)
    this.notify()
  }

  override swap(...args: Parameters<Replica['swap']>): void {
    super.swap(...args)
    this.notify()
  }

  override join(...args: Parameters<Replica['join']>): void {
    super.join(...args)
    this.notify()
  }
}

/** A replica, not ready yet, that keeps what listeners and filters throw. */
export function emptyReplica(options: Partial<ReplicaOptions> = {}) {
  const errors: unknown[] = []
  const onListenerError = (error: unknown) => errors.push(error)
  return { errors, replica: new NotifyingReplica({ clock: new VirtualClock(), onListenerError, ...options }) }
}

/** A replica that is ready and holds `rows`. */
export function replicaOf(rows: readonly WireRow[], indexes: ReplicaIndexes = []) {
  const made = emptyReplica({ indexes: new Map([[t, indexes]]) })
  replaceAll(made.replica, rows)
  return made
}

type ReplicaIndexes = readonly Index[]

export function replaceAll(replica: Replica, rows: readonly WireRow[]): void {
  const staging = replica.stage()
  staging.add(rows)
  replica.swap(staging)
}

/** What makes of the replica's row `after`; of the row `id`, nothing. */
export function change(replica: Replica, after: WireRow | string): RowChange {
  const id = typeof after === 'string' ? after : after.id
  const before = replica.confirmed(t, id)
  return { t, id, before, after: typeof after === 'string' ? undefined : reuse(before, after) }
}

export function apply(replica: Replica, ...afters: readonly (WireRow | string)[]): void {
  replica.apply(afters.map((after) => change(replica, after)))
}
