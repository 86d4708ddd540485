import { createSyncService, serve } from '../../src/server/index.ts'
import { authenticate } from '../server/harness.ts'

/* A process that serves: `server.ts <database> <heartbeat, ms>`. It says where, as `{url}`. */

const [database = '', heartbeatMs = ''] = process.argv.slice(2)
const service = createSyncService({
  database,
  authenticate,
  ownerField: 'userId',
  heartbeatMs: Number(heartbeatMs),
})
const { url } = await serve(service, { port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
