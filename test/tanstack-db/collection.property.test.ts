import { createCollection, createTransaction } from '@tanstack/db'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { instepCollectionOptions, instepMutationFn } from '../../src/tanstack-db/index.ts'
import { withSteps } from '../support/store-steps.ts'
import { backend, clientOf } from './scene.ts'

const id = fc.constantFrom('i1', 'i2', 'i3')
const change = fc.record({
  by: fc.constantFrom('collection', 'query', 'transaction', 'client', 'server'),
  deletes: fc.boolean(),
  id,
  other: id,
  fields: fc.record({
    title: fc.constantFrom('a', 'b', 'c'),
    projectId: fc.constantFrom('p1', 'p2'),
    labels: fc.constantFrom(undefined, ['urgent']),
  }),
})
const event = fc.constantFrom(
  'hold',
  'store',
  'settle',
  'reject',
  'down',
  'up',
  'restore',
  'undo',
  'clean up',
)
const steps = fc.array(fc.oneof({ weight: 3, arbitrary: change }, { weight: 2, arbitrary: event }), {
  minLength: 5,
  maxLength: 25,
})

type Change = typeof change extends fc.Arbitrary<infer C> ? C : never
type Happening = Change | (typeof event extends fc.Arbitrary<infer E> ? E : never)

const query = { where: { projectId: 'p1' }, orderBy: 'title', limit: 2 } as const
const written = (rows: Iterable<object>) =>
  [...rows]
    .map((row) => Object.entries(row).filter(([name, value]) => !name.startsWith('$') && value !== undefined))
    .map((entries) => JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1))))
    .sort()

/** A client with two collections, to which things happen. */
async function scene() {
  const server = await backend()
  let release = () => {}
  let held: Promise<void> | undefined
  const store = withSteps(memoryStore(), { awaited: () => held, immediate: () => {} })
  const client = await clientOf(server, store)
  const all = createCollection({ ...instepCollectionOptions({ client, type: 'Issue' }), startSync: true })
  const some = createCollection({
    ...instepCollectionOptions({ client, type: 'Issue', query }),
    startSync: true,
  })

  const write = (collection: typeof all, { id, fields, deletes }: Omit<Change, 'by' | 'other'>) => {
    const row = { ...fields, id }
    if (!collection.has(id)) return collection.insert(row)
    return deletes ? collection.delete(id) : collection.update(id, (draft) => void Object.assign(draft, row))
  }
  const change = async (given: Change) => {
    const { by, id, other, deletes, fields } = given
    const { labels, ...rest } = fields
    const p = labels ? fields : rest
    if (by === 'collection' || by === 'query') {
      write(by === 'query' ? some : all, given).isPersisted.promise.catch(() => {})
    } else if (by === 'transaction') {
      const tx = createTransaction({ mutationFn: instepMutationFn })
      tx.isPersisted.promise.catch(() => {})
      tx.mutate(() => {
        write(all, given)
        if (other !== id) write(all, { ...given, id: other })
      })
    } else if (by === 'client') {
      client.mutate((m) => (deletes ? m.delete('Issue', id) : m.put('Issue', { ...p, id })))
    } else if (deletes) await server.write([{ op: 'd', t: 'Issue', id }])
    else await server.write([{ op: 'i', put: true, t: 'Issue', id, p: { ...p, userId: 'ada' } }])
  }
  const events = {
    hold: () => {
      held ??= new Promise((resolve) => {
        release = resolve
      })
    },
    store: () => {
      held = undefined
      release()
    },
    settle: () => server.clock.advance(1_000),
    reject: () => server.reject('forbidden'),
    down: () => server.down(),
    up: () => server.up(),
    restore: () =>
      server.restore([{ op: 'i', t: 'Issue', id: 'i3', p: { title: 'd', projectId: 'p1' } }], 'ada'),
    undo: () => void client.undo().catch(() => {}),
    'clean up': async () => {
      await all.cleanup()
      all.startSyncImmediate()
    },
  }
  return {
    async run(happening: Happening) {
      // What cannot be written, since the collections hold other rows in that moment, is refused.
      if (typeof happening === 'object') await change(happening).catch(() => {})
      else await events[happening]()
    },
    async end() {
      events.store()
      events.up()
      await server.settle()
      expect(written(all.values())).toEqual(written(client.all('Issue')))
      expect(written(some.values())).toEqual(written(client.query('Issue', query).rows))
      await server.close()
    },
  }
}

test('collections contain what the client shows, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (happenings) => {
      const { run, end } = await scene()
      for (const happening of happenings) await run(happening)
      await end()
    }),
    { numRuns: 20 },
  )
})
