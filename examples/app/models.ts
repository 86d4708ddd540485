import { defineModels, model } from 'instep'
import * as z from 'zod/mini'

export const users = ['ada', 'ben', 'cem']
export const teams = ['red', 'blue']

const title = z
  .string()
  .check(z.minLength(1, 'Please enter a title.'), z.maxLength(60, 'At most 60 characters.'))
const hours = z.number().check(z.gte(0, 'At least 0.'), z.lte(100, 'At most 100.'))

export const models = defineModels({
  /** Private: its owner is its user. */
  Note: z.object({ owner: z.optional(z.string()), text: z.string().check(z.minLength(1)) }),
  Issue: model(
    z.object({
      /** The team, as in `team:red`. */
      owner: z.string(),
      title,
      hours: z.nullable(hours),
      status: z.enum(['open', 'closed']),
      // The server sets these. Until its first response, they are absent.
      author: z.optional(z.string()),
      createdAt: z.optional(z.number()),
    }),
    { indexes: [['owner', 'createdAt']] },
  ),
  /** Its id is the team and the user, as in `red/ada`. Its owner is the user. */
  Membership: z.object({ owner: z.string(), team: z.string(), role: z.enum(['admin', 'member']) }),
})
