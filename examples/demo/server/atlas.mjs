import { randomBytes } from 'node:crypto'
import { setImmediate as pause } from 'node:timers/promises'
import { createSyncService, jwtAuthentication, signToken } from 'instep/server'
import { insertions, organizationId, readPlaces } from './places.mjs'
import { createRules } from './rules.mjs'

const opsPerWrite = 10_000
const tokenLifetimeMs = 3_600_000

/** How far one change moves a place, in degrees: about a kilometre. */
const shift = 0.01

/** The service with all places in it, and what the demo does with it beside serving it. */
export async function createAtlas({ onProgress }) {
  // Nobody signs tokens but this process, and no token outlives it.
  const secret = randomBytes(32).toString('hex')
  const data = readPlaces()
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
    /** A token for one of the users, who all belong to one organization. */
    tokenFor: (userId) => signToken({ secret, userId, organizationId, lifetimeMs: tokenLifetimeMs }),
    /** Moves some places a little, all in one write. Resolves with its position. */
    async change(rows) {
      const updatedAt = Date.now()
      const moved = pick(places, rows).map(([id, { lat, lng }]) => {
        return { op: 'u', t: 'Place', id, p: { lat: nudge(lat), lng: nudge(lng), updatedAt } }
      })
      return service.write(moved)
    },
  }
}

/** `count` different items, at random. */
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
