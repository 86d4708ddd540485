import { searchKey } from '../shared/search-key.mjs'
import type { Client, Place } from './models.ts'

/** The fields of a place that a user can write. */
export type PlaceFields = Pick<Place, 'name' | 'country' | 'rating' | 'note'>

/** Makes the server refuse an edit if somebody else has changed the place since the client's position. */
const unchanged = { ifUnchanged: true }

export function addPlace(client: Client, fields: PlaceFields): void {
  client.mutate((m) => m.insert('Place', { ...fields, ...derivedFrom(fields) }), {
    label: `Add ${fields.name}`,
  })
}

/** Writes only `fields`, so that changes of others to other fields are kept. */
export function editPlace(client: Client, { id, name }: Place, fields: Partial<PlaceFields>): void {
  client.mutate((m) => m.update('Place', id, { ...fields, ...derivedFrom(fields) }, unchanged), {
    label: `Edit ${name}`,
  })
}

export function deletePlace(client: Client, { id, name }: Place): void {
  client.mutate((m) => m.delete('Place', id, unchanged), { label: `Delete ${name}` })
}

function derivedFrom({ name }: { readonly name: string }): { key: string; updatedAt: number }
function derivedFrom({ name }: Partial<PlaceFields>): { key?: string; updatedAt: number }
function derivedFrom({ name }: Partial<PlaceFields>) {
  const updatedAt = Date.now()
  return name === undefined ? { updatedAt } : { key: searchKey(name) || name, updatedAt }
}
