import { model } from 'instep'
import * as z from 'zod/mini'

const row = z.object({
  title: z.string(),
  status: z.enum(['open', 'closed']),
  projectId: z.string(),
  createdAt: z.number(),
  points: z.number(),
  done: z.boolean(),
  text: z.string(),
})

/** What `rowOf` makes: five types of one shape, of which one has an index. */
export const models = {
  Issue: model(row, { indexes: [['status', 'createdAt']] }),
  Comment: row,
  Project: row,
  User: row,
  Label: row,
}
