import { defineModels, model } from 'instep'
import * as z from 'zod/mini'

/** Fields that the database sets are absent until the server has answered. */
const setByDatabase = {
  authorId: z.optional(z.number()),
  createdAt: z.optional(z.number()),
}

export const models = defineModels({
  /** A private note, in Instep's own tables. The others are rows of the application. */
  Note: z.object({ owner: z.optional(z.string()), text: z.string() }),
  User: z.object({ owner: z.string(), name: z.string() }),
  Team: z.object({ owner: z.string(), name: z.string() }),
  Project: model(z.object({ owner: z.string(), name: z.string() }), { indexes: ['owner'] }),
  Issue: model(
    z.object({
      /** The team, as in `team:1`. */
      owner: z.string(),
      projectId: z.number(),
      title: z.string(),
      status: z.enum(['open', 'closed']),
      number: z.optional(z.number()),
      hours: z.optional(z.number()),
      updatedAt: z.optional(z.number()),
      ...setByDatabase,
    }),
    { indexes: [['projectId', 'number']] },
  ),
  Comment: model(z.object({ owner: z.string(), issueId: z.string(), text: z.string(), ...setByDatabase }), {
    indexes: ['issueId'],
  }),
  Activity: model(z.object({ owner: z.string(), text: z.string(), at: z.number() }), {
    indexes: [['owner', 'at']],
  }),
})
