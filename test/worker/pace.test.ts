import { expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { createCredentials } from '../../src/transport/credentials.ts'
import { createTransport } from '../../src/transport/http.ts'
import { snapshotWorker } from '../../src/worker/index.ts'
import { FakeWorker } from '../support/fake-worker.ts'
import { endpoints, ListSink } from '../support/transport-calls.ts'
import { ManualBody } from '../support/transport-fetch.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const mb = 2 ** 20

/** 40 MB of rows, and how much of them was taken from the network. */
function largeSnapshot() {
  const row = JSON.stringify({ t: 'Issue', id: '1', p: { text: 'x'.repeat(4_000) } })
  const chunk = new TextEncoder().encode(`${row},`.repeat(250))
  let bytes = 0
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"sid":1,"rows":[')),
    pull(controller) {
      if (bytes < 40 * mb) controller.enqueue(chunk)
      else {
        controller.enqueue(new TextEncoder().encode(`${row}]}`))
        controller.close()
      }
      bytes += chunk.length
    },
  })
  return { body, taken: () => bytes }
}

test('a worker reads no more than about 8 MB ahead of its page, and goes on once that takes it', async () => {
  const clock = new VirtualClock()
  const { body, taken } = largeSnapshot()
  const world = { clock, fetch: async () => new Response(body) }
  const worker = snapshotWorker(() => new FakeWorker({ world, store: memoryStore() }))
  const transport = createTransport({
    world,
    endpoints,
    credentials: createCredentials({ token: 's3cret' }),
    worker,
    logger: silentLogger,
  })
  const sink = new ListSink()
  let goOn = () => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const bootstrap = transport.bootstrap({
    slice: async (slice) => {
      await held
      await sink.slice(slice)
    },
    progress: () => {},
  })
  await clock.advance(1_000)
  expect(taken()).toBeGreaterThan(6 * mb)
  expect(taken()).toBeLessThan(12 * mb)
  goOn()
  expect(await clock.until(bootstrap)).toEqual({ sid: 1 })
  expect(sink.slices.reduce((sum, { rows }) => sum + rows.length, 0)).toBeGreaterThan(10_000)
})

test('a worker reads no more than about 8 MB ahead of its page, however large a row is', async () => {
  const clock = new VirtualClock()
  const row = new TextEncoder().encode(
    `${JSON.stringify({ t: 'Issue', id: '1', p: { text: 'x'.repeat(4 * mb) } })},`,
  )
  let bytes = 0
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"sid":1,"rows":[')),
    pull(controller) {
      bytes += row.length
      controller.enqueue(row)
    },
  })
  const world = { clock, fetch: async () => new Response(body) }
  const worker = snapshotWorker(() => new FakeWorker({ world, store: memoryStore() }))
  const transport = createTransport({
    world,
    endpoints,
    credentials: createCredentials({}),
    worker,
    logger: silentLogger,
  })
  const abort = new AbortController()
  const bootstrap = transport.bootstrap(
    { slice: () => new Promise(() => {}), progress: () => {} },
    abort.signal,
  )
  bootstrap.catch(() => {})
  await clock.advance(5_000)
  expect(bytes).toBeLessThan(24 * mb)
})

test('a worker tells how far it is between two slices, too, though not at every piece', async () => {
  const clock = new VirtualClock()
  const body = new ManualBody()
  const world = { clock, fetch: async () => new Response(body.stream) }
  const worker = snapshotWorker(() => new FakeWorker({ world, store: memoryStore() }))
  const credentials = createCredentials({})
  const transport = createTransport({ world, endpoints, credentials, worker, logger: silentLogger })
  const sink = new ListSink()
  const bootstrap = transport.bootstrap(sink)
  await clock.advance(1_000)
  for (const piece of ['{"sid":1,"count":', '0', ',"rows"', ':', '[', ' ', ' ']) {
    body.sends(piece)
    await clock.advance(40)
  }
  expect(sink.progresses.map(({ bytes }) => bytes)).toEqual([17, 26, 29])
  body.sends(']}')
  body.ends()
  expect(await clock.until(bootstrap)).toEqual({ sid: 1, count: 0 })
})
