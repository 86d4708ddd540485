import { afterAll, beforeAll } from 'vitest'
import { type Postgres, quick, startPostgres } from './postgres.ts'

/** A PostgreSQL for the tests that follow, with `settings` beside those of a test. It is stopped after all that a file declares to be done after them. */
export function ownPostgres(...settings: readonly string[]): Omit<Postgres, 'stop'> {
  let own: Postgres
  beforeAll(async () => {
    own = await startPostgres([...quick, ...settings])
  })
  afterAll(() => own.stop())
  return {
    database: (name) => own.database(name),
    run: (name, sql) => own.run(name, sql),
    crash: () => own.crash(),
  }
}
