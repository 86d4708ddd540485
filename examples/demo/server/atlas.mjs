import { randomBytes } from 'node:crypto'
import { setImmediate as pause } from 'node:timers/promises'
import { createSyncService, jwtAuthentication, signToken } from 'instep/server'
import { insertions, organizationId, readPlaces } from './places.mjs'
import { createRules } from './rules.mjs'

const opsPerWrite = 10_000
const tokenLifetimeMs = 3_600_000

/** The maximum distance by which a change moves a place, in degrees: about a kilometre. */
const shift = 0.01

/**
 * Creates the service with all places, or those of one country, and the functions that the demo needs beside the
 * service.
 */
export async function createAtlas({ country, onProgress }) {
  // Only this process signs and checks tokens, so a random secret is enough.
  const secret = randomBytes(32).toString('hex')
  const data = readPlaces(country)
  const service = createSyncService({
    database: 'memory:',
    authenticate: jwtAuthentication({ secret }),
    ownerField: 'organizationId',
    authorize: createRules(data.places),
  })

  const ops = insertions(data)
  for (let written = 0; written < ops.length; written += opsPerWrite) {
    await service.write(ops.slice(written, written + opsPerWrite))
    onProgress(Math.min(written + opsPerWrite, ops.length) / ops.length)
    await pause()
  }

  const places = [...data.places]
  return {
    service,
    places: places.length,
    countries: data.countries.size,
    /** Returns a token for a user. All users belong to one organization. */
    tokenFor: (userId) => signToken({ secret, userId, organizationId, lifetimeMs: tokenLifetimeMs }),
    /** Moves `rows` random places a little, in one write. Resolves with the `sid` of the last change. */
    async change(rows) {
      const updatedAt = Date.now()
      const moved = pick(places, rows).map(([id, { lat, lng }]) => {
        return { op: 'u', t: 'Place', id, p: { lat: nudge(lat), lng: nudge(lng), updatedAt } }
      })
      return service.write(moved)
    },
  }
}

/** Returns `count` different random items. */
function pick(items, count) {
  const picked = new Set()
  while (picked.size < Math.min(count, items.length)) {
    picked.add(items[Math.floor(Math.random() * items.length)])
  }
  return [...picked]
}

function nudge(degrees) {
  return Number((degrees + (Math.random() - 0.5) * 2 * shift).toFixed(5))
}
