import { afterAll, beforeAll } from 'vitest'
import { describeLog, type MakeLog } from '../server/log-contract.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { logsIn } from '../support/postgres-log.ts'

let postgres: Postgres
let inPostgres: Awaited<ReturnType<typeof logsIn>>
let inPGlite: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  postgres = await startPostgres()
  inPostgres = await logsIn(await postgres.database('contract'))
  inPGlite = await logsIn('memory:')
})

afterAll(async () => {
  await inPostgres.close()
  await inPGlite.close()
  await postgres.stop()
})

const postgresLog: MakeLog = () => inPostgres.make()
const pgliteLog: MakeLog = () => inPGlite.make()

describeLog('the log in PostgreSQL', postgresLog)
describeLog('the log in PGlite', pgliteLog)
