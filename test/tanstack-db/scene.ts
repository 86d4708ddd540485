import { type Collection, createCollection } from '@tanstack/db'
import * as z from 'zod/mini'
import { memoryStore, type Store, type SyncClient } from '../../src/index.ts'
import { instepCollectionOptions } from '../../src/tanstack-db/index.ts'
import { type MockSyncServer, mockSyncServer, type VirtualClock } from '../../src/testing/index.ts'

export const models = {
  Issue: z.object({
    title: z.string(),
    projectId: z.string(),
    estimate: z.optional(z.number()),
    labels: z.optional(z.array(z.string())),
  }),
  Project: z.object({ name: z.string() }),
}
export type Client = SyncClient<typeof models>
export type Server = MockSyncServer<VirtualClock>

/** A server with one project of Ada's and two issues in it. */
export async function backend(): Promise<Server> {
  const server = mockSyncServer()
  await server.write(
    [
      { op: 'i', t: 'Project', id: 'p1', p: { name: 'House' } },
      { op: 'i', t: 'Issue', id: 'i1', p: { title: 'Cable cut', projectId: 'p1', estimate: 1 } },
      { op: 'i', t: 'Issue', id: 'i2', p: { title: 'Door stuck', projectId: 'p1' } },
    ],
    'ada',
  )
  return server
}

/** A client of Ada's, in step. */
export async function clientOf(server: Server, store: Store = memoryStore()): Promise<Client> {
  const client = server.client({ identity: 'ada', models, store })
  await client.start()
  await server.settle()
  return client
}

/** A collection of issues that syncs. */
export function issuesOf(client: Client) {
  const issues = createCollection(instepCollectionOptions({ client, type: 'Issue' }))
  issues.startSyncImmediate()
  return issues
}

/** The title of each issue by id, as the collection has it. */
export function titles(issues: Pick<Collection<{ readonly title: string }, string>, 'entries'>) {
  return Object.fromEntries([...issues.entries()].map(([id, { title }]) => [id, title]))
}

/** Every change that is told of a collection, with the title that is then there to be read. */
export function listen(issues: ReturnType<typeof issuesOf>): string[] {
  const told: string[] = []
  const tell = (changes: readonly { readonly type: string; readonly key: string | number }[]) => {
    for (const { type, key } of changes) told.push(`${type} ${key} ${issues.get(String(key))?.title ?? '-'}`)
  }
  issues.subscribeChanges(tell, { includeInitialState: true })
  told.length = 0
  return told
}
