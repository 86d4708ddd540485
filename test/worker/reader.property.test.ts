import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { createCredentials } from '../../src/transport/credentials.ts'
import { createTransport } from '../../src/transport/http.ts'
import { type SnapshotWorker, snapshotWorker } from '../../src/worker/index.ts'
import { FakeWorker } from '../support/fake-worker.ts'
import { document } from '../support/snapshot-arbitraries.ts'
import { endpoints, ListSink } from '../support/transport-calls.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const credentials = createCredentials({ token: 's3cret' })
const clock = new VirtualClock()

/** What comes of a snapshot, and what was wrong with it. */
async function outcome(bytes: Uint8Array<ArrayBuffer>, cuts: readonly number[], inWorker: boolean) {
  const ends = [...cuts.filter((cut) => cut < bytes.length), bytes.length].sort((a, b) => a - b)
  const chunks = ends.map((end, index) => bytes.slice(ends[index - 1] ?? 0, end))
  const world = { clock, fetch: async () => new Response(new Blob(chunks).stream()) }
  const worker: SnapshotWorker | undefined = inWorker
    ? snapshotWorker(() => new FakeWorker({ world, store: memoryStore() }))
    : undefined
  const sink = new ListSink()
  const head = await createTransport({ world, endpoints, credentials, worker, logger: silentLogger })
    .bootstrap(sink)
    .catch(({ name, code, message }) => ({ name, code, message }))
  return { head, slices: sink.slices, progress: sink.progresses.at(-1) }
}

test('whatever a snapshot is, a worker makes of it what the page does', async () => {
  const cuts = fc.array(fc.nat(2_000), { maxLength: 5 })
  let whole = 0
  await fc.assert(
    fc.asyncProperty(document, cuts, async (bytes, cuts) => {
      const inPage = await outcome(bytes, cuts, false)
      const inWorker = await outcome(bytes, cuts, true)
      expect(inWorker.head).toEqual(inPage.head)
      // The page takes back what came before a fault; how much that was is no matter.
      if ('name' in inPage.head) return
      whole += 1
      expect(inWorker).toEqual(inPage)
    }),
  )
  expect(whole).toBeGreaterThan(10)
})
