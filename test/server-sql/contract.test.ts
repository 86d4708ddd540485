import { afterAll, beforeAll } from 'vitest'
import { describeLog, type MakeLog } from '../server/log-contract.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { logsIn } from '../support/postgres-log.ts'

const postgres = ownPostgres()
let inPostgres: Awaited<ReturnType<typeof logsIn>>
let inPGlite: Awaited<ReturnType<typeof logsIn>>

beforeAll(async () => {
  inPostgres = await logsIn(await postgres.database('contract'))
  inPGlite = await logsIn('memory:')
})

afterAll(async () => {
  await inPostgres.close()
  await inPGlite.close()
})

const postgresLog: MakeLog = () => inPostgres.make()
const pgliteLog: MakeLog = () => inPGlite.make()

describeLog('the log in PostgreSQL', postgresLog)
describeLog('the log in PGlite', pgliteLog)
