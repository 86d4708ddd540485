// Next loads this module once for the routes and once for the server. A global makes both use the same service.
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
