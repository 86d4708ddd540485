import { defineModels, model } from 'instep'
import * as z from 'zod/mini'

/** Fields that the server sets are absent until its first response. */
const setByServer = {
  author: z.optional(z.string()),
  createdAt: z.optional(z.number()),
  changedAt: z.optional(z.number()),
}

export const models = defineModels({
  Note: z.object({ owner: z.optional(z.string()), text: z.string() }),
  Issue: model(
    z.object({
      /** The team, as in `team:red`. */
      owner: z.string(),
      title: z.string(),
      status: z.enum(['open', 'closed']),
      number: z.optional(z.number()),
      ...setByServer,
    }),
    { indexes: ['owner'] },
  ),
  Comment: model(
    z.object({
      owner: z.string(),
      /** The id of the issue. */
      issue: z.string(),
      text: z.string(),
      ...setByServer,
    }),
    { indexes: ['issue'] },
  ),
  Membership: z.object({ owner: z.string(), team: z.string(), role: z.enum(['admin', 'member']) }),
})
