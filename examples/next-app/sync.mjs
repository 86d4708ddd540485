// The service, once for the whole process: Next loads routes and server apart, and each finds it here.
import { createSyncService, jwtAuthentication } from 'instep/server'

const key = Symbol.for('next-app.sync')

export function syncService() {
  globalThis[key] ??= createSyncService({
    database: process.env.DATABASE_URL ?? 'memory:',
    authenticate: jwtAuthentication({ secret: process.env.JWT_SECRET ?? '' }),
    ownerField: 'userId',
  })
  return globalThis[key]
}
