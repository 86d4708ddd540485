import { type ClientOf, defineModels, model, type RecordOf } from 'instep'
import * as z from 'zod/mini'

const place = z.object({
  /** The owner. The server sets this field. */
  organizationId: z.optional(z.string()),
  name: z.string(),
  /** The name for searching and sorting: see `searchKey`. */
  key: z.string(),
  /** The id of a country: its ISO 3166-1 code. */
  country: z.string(),
  /** In degrees. Absent for places that users have added. */
  lat: z.optional(z.number()),
  lng: z.optional(z.number()),
  /** The number of stars; 0 for none. The server checks the maximum. */
  rating: z.optional(z.number()),
  note: z.optional(z.string()),
  /** The time of the last change, in ms since the epoch; 0 before the first change. */
  updatedAt: z.number(),
})

const country = z.object({ organizationId: z.string(), name: z.string(), places: z.number() })

export const models = defineModels({
  // One index for each order of the list: a query then reads only the visible rows.
  Place: model(place, { indexes: ['key', 'country', 'lat'] }),
  Country: country,
})

export type Place = RecordOf<typeof models, 'Place'>
export type Country = RecordOf<typeof models, 'Country'>
export type Client = ClientOf<typeof models>
