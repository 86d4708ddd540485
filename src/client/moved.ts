import type { Clock, Locks } from '../base/environment.ts'
import { type SyncError, toSyncError, wrongOption } from '../base/errors.ts'
import { redactUrl } from '../network/endpoints.ts'
import type { Disk } from '../persistence/disk.ts'
import { moveOutbox, readFormerOutbox } from '../persistence/former-outbox.ts'
import { unlessBlocked } from '../storage/deadline.ts'
import { openLockOf } from '../storage/open-lock.ts'
import type { Store, StoreConnection } from '../storage/store.ts'
import { readDatabaseName } from './databases.ts'

export interface MovedOptions {
  readonly store: Store
  /** The names of the databases in the store, as {@link Store.names}. */
  readonly names: Store['names']
  /** The locks of all open databases of the store; `undefined` if there are none. */
  readonly openLocks: Locks | undefined
  readonly clock: Clock
  /** The name of the database of the present address. */
  readonly name: string
  /** The names of the databases of former addresses; `undefined` if the application does not say. */
  readonly former: readonly string[] | undefined
  readonly report: (error: SyncError) => void
}

/**
 * Moves what waits in the databases of former addresses to `disk`. If the application does not name them, reports
 * each database of the same identity that has unsent writes. Never rejects.
 */
export async function takeOver(options: MovedOptions, disk: Disk): Promise<void> {
  const { store, names, clock, former, report } = options
  try {
    const listed = names && (await unlessBlocked(clock, names()))
    const others = (former ?? listed ?? []).filter(
      (other) => (listed?.includes(other) ?? true) && isOther(options, other),
    )
    for (const other of others) {
      if (!former) await refuse(options, other)
      else if (await use(store, other, (connection) => moveOutbox(connection, disk))) {
        // A tab that has it open may keep it.
        store.destroy(other).catch(() => {})
      }
    }
  } catch (error) {
    report(toSyncError(error))
  }
}

/** Reports unsent writes in the database `other`, unless a client that has it open sends them. */
async function refuse({ store, openLocks, report }: MovedOptions, other: string): Promise<void> {
  let isInUse = false
  await openLocks
    ?.request(openLockOf(other), { ifAvailable: true }, async (lock) => {
      isInUse = !lock
    })
    .catch(() => {})
  if (isInUse) return
  const { records } = await use(store, other, readFormerOutbox)
  if (records.every(({ state }) => state === 'accepted')) return
  const url = redactUrl(readDatabaseName(other)?.bootstrapUrl ?? '')
  const what = `does not name ${url}, whose database has unsent writes of this identity; add it if the service has moved.`
  report(wrongOption('movedFrom', what))
}

/** Whether `other` is a database of the same identity at another address. */
function isOther({ name }: MovedOptions, other: string): boolean {
  return other !== name && readDatabaseName(other)?.identity === readDatabaseName(name)?.identity
}

async function use<T>(
  store: Store,
  name: string,
  work: (connection: StoreConnection) => Promise<T>,
): Promise<T> {
  const connection = await store.open(name)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}
