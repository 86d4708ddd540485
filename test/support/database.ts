import type { Clock } from '../../src/base/environment.ts'
import type { MigrationPlan } from '../../src/models/migrate.ts'
import { Connection, type ConnectionOptions } from '../../src/persistence/connection.ts'
import { Data } from '../../src/persistence/data.ts'
import { type OutboxStore, openOutbox } from '../../src/persistence/outbox.ts'

/** Data and outbox of a database, as one client has them. */
export class Database extends Data {
  readonly connection: Connection
  readonly outbox: OutboxStore

  constructor(connection: Connection, clock: Clock, models: MigrationPlan) {
    super(connection, clock, models)
    this.connection = connection
    this.outbox = openOutbox(connection, () => undefined)
  }

  close(): void {
    void this.connection.close()
  }
}

let lives = 0

/** Opens a database as the leader. Rejects if that fails. */
export async function openDatabase({
  clock,
  models = { version: 1, migrate: {} },
  ...options
}: Pick<ConnectionOptions, 'store' | 'name' | 'clock'> & {
  readonly models?: MigrationPlan
}): Promise<Database> {
  const connection = new Connection({
    ...options,
    clock,
    newLife: () => {
      lives += 1
      return `life ${lives}`
    },
    caller: () => undefined,
    wasDeleted: async () => true,
    listener: { moved() {}, attached: async () => {}, changed: () => {} },
  })
  await connection.attach()
  const { failure } = connection
  if (!failure) return new Database(connection, clock, models)
  await connection.close()
  throw failure
}
