import { type ClientOf, defineModels, model, type RecordOf } from 'instep'
import * as z from 'zod/mini'

const place = z.object({
  /** Whose it is; the server says so. */
  organizationId: z.optional(z.string()),
  name: z.string(),
  /** The name as it is searched and sorted by. */
  key: z.string(),
  /** The id of a country: its ISO 3166-1 code. */
  country: z.string(),
  /** In degrees; unknown for places that users add. */
  lat: z.optional(z.number()),
  lng: z.optional(z.number()),
  /** In stars; 0 for none. How many there may be is for the server to say. */
  rating: z.optional(z.number()),
  note: z.optional(z.string()),
  /** In ms since the epoch; 0 until it is changed. */
  updatedAt: z.number(),
})

const country = z.object({ organizationId: z.string(), name: z.string(), places: z.number() })

export const models = defineModels({
  // What the list can be ordered by: no order then costs more than the rows that are looked at.
  Place: model(place, { indexes: ['key', 'country', 'lat'] }),
  Country: country,
})

export type Place = RecordOf<typeof models, 'Place'>
export type Country = RecordOf<typeof models, 'Country'>
export type Client = ClientOf<typeof models>
