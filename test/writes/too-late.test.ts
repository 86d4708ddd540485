import { expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { at, failure, inStep } from '../support/test-backend.ts'
import { around, writesOutbox } from '../support/watching-store.ts'

/** A disk that does all that it is told, and never says that the next write to the outbox is done once it is `silent`. */
function disk() {
  const inner = memoryStore()
  const is = { silent: false }
  const store = around(inner, async (options, run) => {
    if (!is.silent || !writesOutbox(options)) return run()
    is.silent = false
    const { signal: _, ...unlimited } = options
    await run(unlimited)
    return new Promise(() => {})
  })
  return { is, store, inner }
}

const write = (client: SyncClient, n: number) => client.mutate((m) => m.update('Note', '1', { n }))

type Change = (client: SyncClient, id: string) => unknown

const changes: readonly (readonly [what: string, state: 'queued' | 'rejected', change: Change])[] = [
  ['undone', 'queued', (client) => client.undo().catch(() => {})],
  ['discarded', 'rejected', (client, id) => client.outbox.discard(id).catch(() => {})],
  ['retried', 'rejected', (client, id) => client.outbox.retry(id)],
]

test.each(changes)(
  'invariant 18: if the disk confirms too late that a transaction was %s, the transaction is restored on disk',
  async (_, state, change) => {
    const { is, store, inner } = disk()
    const { backend, client } = await inStep({ 1: { title: 'Milk' } }, { store })
    if (state === 'queued') await backend.clock.until(client.stop())
    else backend.intercept = at('tx', async () => failure(422, 'invalid'))
    const tx = write(client, 1)
    await backend.clock.until(tx.durable)
    await backend.clock.advance(5_000)
    is.silent = true
    change(client, tx.id)
    await backend.clock.advance(20_000)
    expect([tx.state, client.outbox.list()]).toEqual([state, [tx]])

    // The process is gone.
    const after = backend.device({ store: inner })
    after.network.cut()
    const next = after.client()
    await backend.clock.until(next.start())
    expect(next.outbox.list()).toMatchObject([{ id: tx.id, state }])
  },
)
