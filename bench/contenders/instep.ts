import { indexedDbStore, model, SyncClient } from 'instep'
import * as z from 'zod/mini'
import type { Contender } from './contender.ts'

const row = z.object({
  title: z.string(),
  status: z.enum(['open', 'closed']),
  projectId: z.string(),
  createdAt: z.number(),
  points: z.number(),
  done: z.boolean(),
  text: z.string(),
})

const models = {
  Issue: model(row, { indexes: [['status', 'createdAt']] }),
  Comment: row,
  Project: row,
  User: row,
  Label: row,
}

/** What the next delta brings; without one, the server is asked. */
let next: string | undefined

function open(url: string) {
  return new SyncClient({
    baseUrl: url,
    token: 'bench',
    identity: 'bench',
    store: indexedDbStore(),
    models,
    world: {
      fetch: (input, init) => {
        const text = next
        next = undefined
        return text === undefined ? fetch(input, init) : Promise.resolve(new Response(text))
      },
    },
  })
}

let client: ReturnType<typeof open>

export const contender: Contender = {
  async firstSync(url) {
    client = open(url)
    await client.sync()
  },
  async startUp(url) {
    client = open(url)
    await client.start()
    await client.stop()
    const types = ['Issue', 'Comment', 'Project', 'User', 'Label'] as const
    return types.reduce((sum, t) => sum + client.count(t), 0)
  },
  async delta(delta) {
    next = JSON.stringify(delta)
    await client.sync()
  },
  async watch(told) {
    client
      .query('Issue', { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 })
      .subscribe(told)
  },
}
