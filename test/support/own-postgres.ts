import { afterAll, beforeAll } from 'vitest'
import { type Postgres, quick, startPostgres } from './postgres.ts'

/** Starting one takes long, so the files that a process runs, one after another, share it. */
let shared: Promise<Postgres> | undefined

/**
 * An empty PostgreSQL for the tests that follow, or one with `settings` beside those of a test. It is empty again, or
 * stopped, after all that a file declares to be done after them.
 */
export function ownPostgres(...settings: readonly string[]): Omit<Postgres, 'empty' | 'stop'> {
  let own: Postgres
  const isShared = settings.length === 0
  beforeAll(async () => {
    if (isShared) shared ??= startPostgres()
    own = await (isShared && shared ? shared : startPostgres([...quick, ...settings]))
  })
  afterAll(() => (isShared ? own.empty() : own.stop()))
  return {
    database: (name) => own.database(name),
    run: (name, sql) => own.run(name, sql),
    crash: () => own.crash(),
  }
}
