import { sql } from 'kysely'
import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { MemoryLog } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { startPostgres } from '../support/postgres.ts'
import { logsIn } from '../support/postgres-log.ts'

/** What a service can stand on. */
export const kinds = ['memory', 'PGlite', 'PostgreSQL'] as const

export type Kind = (typeof kinds)[number]

/** Logs of each kind. Opening a database takes long, so a file of tests opens each once. */
export interface Grounds {
  /** A log without content, which is the only one of its kind until it is closed. */
  log(kind: Kind): Promise<Log>
  /** Runs statements in the database of a kind. */
  run(kind: Exclude<Kind, 'memory'>, ...statements: readonly string[]): Promise<void>
  close(): Promise<void>
}

export async function openGrounds(): Promise<Grounds> {
  const postgres = await startPostgres()
  const address = await postgres.database('grounds')
  const [server, embedded] = await Promise.all([logsIn(address), logsIn('memory:')])
  return {
    async log(kind) {
      if (kind === 'memory') return new MemoryLog(resolveEnvironment())
      const { log } = await (kind === 'PGlite' ? embedded : server).make()
      return log
    },
    async run(kind, ...statements) {
      const { writers } = (kind === 'PGlite' ? embedded : server).database
      for (const statement of statements) await sql.raw(statement).execute(writers)
    },
    async close() {
      await Promise.all([server.close(), embedded.close()])
      await postgres.stop()
    },
  }
}
