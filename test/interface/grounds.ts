import { resolveEnvironment } from '../../src/base/environment.default.ts'
import { MemoryLog } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { startPostgres } from '../support/postgres.ts'
import { logsIn } from '../support/postgres-log.ts'

/** What a service can stand on. */
export const kinds = ['memory', 'PGlite', 'PostgreSQL'] as const

export type Kind = (typeof kinds)[number]

/** Logs of each kind. Opening a database takes long, so a file of tests opens each once, and PGlite only where it is asked for. */
export interface Grounds {
  /** A log without content, which is the only one of its kind until it is closed. */
  log(kind: Kind): Promise<Log>
  close(): Promise<void>
}

export async function openGrounds(): Promise<Grounds> {
  const postgres = await startPostgres()
  const address = await postgres.database('grounds')
  const server = await logsIn(address)
  let pglite: ReturnType<typeof logsIn> | undefined
  return {
    async log(kind) {
      if (kind === 'memory') return new MemoryLog(resolveEnvironment())
      if (kind === 'PostgreSQL') return (await server.make()).log
      pglite ??= logsIn('memory:')
      return (await (await pglite).make()).log
    },
    async close() {
      await Promise.all([server.close(), (await pglite)?.close()])
      await postgres.stop()
    },
  }
}
