import { bearerToken, createSyncService, serve } from '../../src/server/index.ts'
import { tables, teams } from './team.ts'

/* A process that serves the tables of a team: `server.ts <database>`. It says where, as `{url}`. */

const [database = ''] = process.argv.slice(2)
const service = createSyncService({
  database,
  tables,
  ownerField: 'teamId',
  authenticate: async (request) => {
    const userId = bearerToken(request) ?? ''
    const owners = teams[userId]
    return owners ? { userId, owners } : null
  },
})
await service.ready()
const { url } = await serve(service, { port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
