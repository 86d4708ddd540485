import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/base/logger.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import { createCredentials } from '../../src/transport/credentials.ts'
import { createTransport } from '../../src/transport/http.ts'
import { snapshotWorker } from '../../src/worker/index.ts'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device } from '../support/device.ts'
import { FakeWorker } from '../support/fake-worker.ts'
import { endpoints, ListSink } from '../support/transport-calls.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { fill, WorkerDevice } from '../support/worker-device.ts'

const refusal = (status: number, ending: 'cut' | 'stalled', headers = {}): BareFault => {
  return () => ({ status, headers, body: ['{"error":{"code":"x"'], ending })
}

describe('a refusal is the same through a worker', () => {
  const long = JSON.stringify({ error: { code: 'busy', message: 'x '.repeat(10_000) } })
  test.each([
    ['401 whose body breaks off', refusal(401, 'cut')],
    ['401 whose body stalls', refusal(401, 'stalled')],
    ['429 whose body breaks off', refusal(429, 'cut', { 'retry-after': '7' })],
    ['403 whose body stalls', refusal(403, 'stalled')],
    ['503 with 20 kB of JSON', faults.answer(503, long)],
    [
      '500 that is no UTF-8',
      (() => ({
        status: 500,
        headers: {},
        body: ['{"error":{"code":"a","message":"', Uint8Array.of(0xff), '"}}'],
      })) as BareFault,
    ],
  ])('%s', async (_, fault) => {
    const errors: unknown[] = []
    const took: number[] = []
    for (const device of [new WorkerDevice(), new Device({ push: 'none' })]) {
      fill(device, 10)
      device.server.failNext(fault, { path: '/bootstrap' })
      const client = device.client(device instanceof WorkerDevice ? device.options : {})
      const began = device.clock.now()
      const error = await device.clock.until(client.sync()).then(
        () => undefined,
        (error) => error,
      )
      took.push(Math.round((device.clock.now() - began) / 1_000))
      errors.push({ ...JSON.parse(JSON.stringify(error)), message: error.message })
    }
    expect(errors[0]).toEqual(errors[1])
    expect(took[0]).toEqual(took[1])
  })

  test('status 999, which no Response can be made with', async () => {
    const clock = new VirtualClock()
    const answer = {
      ok: false,
      status: 999,
      headers: new Headers(),
      body: null,
      type: 'basic',
      text: async () => '',
      arrayBuffer: async () => new ArrayBuffer(0),
    } as unknown as Response
    const world = { clock, fetch: async () => answer }
    const errors = []
    for (const worker of [snapshotWorker(() => new FakeWorker({ world, store: memoryStore() })), undefined]) {
      const transport = createTransport({
        world,
        endpoints,
        credentials: createCredentials({}),
        worker,
        logger: silentLogger,
      })
      errors.push(
        await clock.until(
          transport.bootstrap(new ListSink()).catch(({ name, status }) => ({ name, status })),
        ),
      )
    }
    expect(errors[0]).toEqual(errors[1])
  })

  test('an error is of the class that it is in the page', async () => {
    for (const device of [new Device({ push: 'none' }), new WorkerDevice()]) {
      device.server.failNext(faults.portal(), { path: '/bootstrap' })
      const client = device.client(device instanceof WorkerDevice ? device.options : {})
      const error = await device.clock.until(client.sync()).catch((error) => error)
      expect(error.constructor.name).toBe('ProtocolError')
    }
  })
})
