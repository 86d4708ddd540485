import { describe, expect, test } from 'vitest'
import type { SyncError } from '../../src/base/errors.ts'
import type { World } from '../../src/base/world.ts'
import { snapshotWorker } from '../../src/worker/index.ts'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'
import { FakeWorker } from '../support/fake-worker.ts'
import { fill, WorkerDevice } from '../support/worker-device.ts'

const warning = 'The worker for snapshots cannot be used; the page reads them by itself.'

const bodies = {
  'an empty body': faults.answer(200),
  'no content': faults.noContent(),
  'a page of HTML': faults.portal(),
  'a body that is no UTF-8': (answer) => ({
    ...answer,
    body: ['{"sid":1,"rows":[{"t":"', Uint8Array.of(0xff), '"}]}'],
  }),
  'a row that is no JSON': faults.answer(200, '{"sid":1,"rows":[{"t":"a","id":"1","p":{}},nope]}'),
  'an item between two commas that is none': faults.answer(
    200,
    '{"sid":1,"rows":[{"t":"a","id":"1","p":{}}, ]}',
  ),
  'a body that broke off': faults.truncated(0.5),
  'a body that ends too early': faults.truncated(0.5, 'whole'),
  'a body that stalls': faults.truncated(0.5, 'stalled'),
  'no answer': faults.silent(),
  'a redirect': faults.redirect('https://elsewhere.example.com/'),
  'a refusal': faults.answer(403, '{"error":{"code":"forbidden","message":"Not you."}}'),
  'too many requests': faults.tooMany('7'),
  'a failure of the server': faults.answer(500, 'Oops'),
  'no credentials': faults.answer(401, 'Who are you?'),
} satisfies Record<string, BareFault>

/** What `sync` rejects with. */
async function failure(device: Device, client: ReturnType<Device['client']>): Promise<SyncError> {
  return device.clock.until(client.sync()).then(
    () => Promise.reject(new Error('It did not fail.')),
    (error) => error,
  )
}

describe('where a snapshot fails, a worker tells what the page would have told:', () => {
  test.each(Object.entries(bodies))('%s', async (_, fault) => {
    const device = new WorkerDevice()
    const other = new Device({ push: 'none' })
    for (const one of [device, other]) {
      fill(one, 2_000)
      one.server.failNext(fault, { path: '/bootstrap' })
    }
    const [client, inPage] = [device.client(device.options), other.client()]
    const [error, expected] = [await failure(device, client), await failure(other, inPage)]
    const { name, code, message, retryable } = expected
    expect(error).toMatchObject({ name, code, message, retryable })
    expect(error).toMatchObject(JSON.parse(JSON.stringify(expected)))
    expect(device.warnings).toEqual([])
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 2_000 })
    expect(device.workers).toHaveLength(2)
  })

  test('no network, for neither of them', async () => {
    const device = new WorkerDevice()
    device.network.cut()
    const client = device.client(device.options)
    expect(await failure(device, client)).toMatchObject({ name: 'NetworkError', code: 'unreachable' })
    expect(device.warnings).toEqual([])
    device.network.mend()
    fill(device, 10)
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 10 })
    expect(device.workers).toHaveLength(2)
  })

  test('nothing, where the client was stopped, and the next snapshot is read by one again', async () => {
    const device = new WorkerDevice()
    fill(device, 2_000)
    device.server.failNext(faults.truncated(0.5, 'stalled'), { path: '/bootstrap' })
    const client = device.client(device.options)
    await client.start()
    await device.clock.advance(1_000)
    await client.stop()
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 2_000 })
    expect(device.warnings).toEqual([])
    expect(device.workers).toHaveLength(2)
  })

  test('nothing, where the client was stopped while its worker loads', async () => {
    const device = new WorkerDevice()
    device.edit = () => undefined
    const client = device.client(device.options)
    await client.start()
    await device.clock.advance(1_000)
    await client.stop()
    await device.clock.advance(60_000)
    expect([device.warnings, device.worker.terminated]).toEqual([[], true])
  })

  test('rows that are left out', async () => {
    const body = `{"sid":1,"rows":[7,${'['.repeat(501)}${']'.repeat(501)},{"t":"Issue","id":"1","p":{}}]}`
    const logs: string[][] = []
    for (const device of [new WorkerDevice(), new Device({ push: 'none' })]) {
      const client = device.client(device instanceof WorkerDevice ? device.options : {})
      device.server.failNext(faults.answer(200, body), { path: '/bootstrap' })
      await device.clock.until(client.sync())
      expect(shown(client)).toEqual({ 1: {} })
      logs.push(device.log)
    }
    expect(logs[0]).toHaveLength(2)
    expect(logs[0]).toEqual(logs[1])
  })
})

describe('the page reads by itself, and says so,', () => {
  const readsInPage = async (device: WorkerDevice, reason: string, options = device.options) => {
    fill(device, 10)
    const client = device.client(options)
    await device.clock.until(client.sync())
    expect(client.count('Issue')).toBe(10)
    device.insert('10')
    await device.clock.until(client.sync())
    device.server.failNext(faults.gone(), { path: '/delta' })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap' })
    // The next snapshot may find it again.
    expect(device.warnings).toEqual([`${warning} ${reason}`, `${warning} ${reason}`])
    expect(device.workers.every(({ terminated }) => terminated)).toBe(true)
  }

  test('where no worker can be made', async () => {
    const device = new WorkerDevice()
    const worker = snapshotWorker(() => {
      throw new Error('Not here.')
    })
    const reason = 'Something unexpected failed: Not here.'
    await readsInPage(device, reason, { ...device.options, worker })
  })

  test('where its script cannot be loaded', async () => {
    const device = new WorkerDevice()
    device.edit = ({ kind }) => {
      if (kind === 'ready') device.worker.crash('')
      return undefined
    }
    await readsInPage(device, 'The worker failed: its script cannot be loaded, or may not run here.')
  })

  test('where it never says that it is ready', async () => {
    const device = new WorkerDevice()
    device.edit = () => undefined
    await readsInPage(device, 'Starting the worker took longer than 10 s.')
    expect(device.worker.terminated).toBe(true)
  })

  test('where it is of another version', async () => {
    const device = new WorkerDevice()
    device.edit = (message) => ({ ...message, version: 0 })
    await readsInPage(device, 'The worker is of another version than the page: build both together.')
  })
})

describe('a worker that ends in the middle', () => {
  test('before there is an answer: the page asks at once, and from then on', async () => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    device.edit = (message) => {
      if (message.kind !== 'answer') return message
      device.worker.crash()
      return undefined
    }
    const client = device.client(device.options)
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 3_000 })
    expect(device.warnings).toEqual([`${warning} The worker failed: out of memory.`])
    device.insert('3000')
    await device.clock.until(client.sync())
    device.server.failNext(faults.gone(), { path: '/delta' })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap' })
    expect(device.workers).toHaveLength(1)
  })

  test.each(['slice', 'end'])('before it says %s: the page does it the next time', async (kind) => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    device.edit = (message) => {
      if (message.kind !== kind) return message
      device.worker.crash()
      return undefined
    }
    const client = device.client(device.options)
    expect(await failure(device, client)).toMatchObject({ name: 'NetworkError', retryable: true })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 3_000 })
    expect(device.workers).toHaveLength(1)
    expect(device.warnings).toEqual([`${warning} The worker failed: out of memory.`])
  })

  test('of which one message cannot be read: nothing of what follows is believed', async () => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    let slices = 0
    device.edit = (message) => {
      if (message.kind === 'slice') slices += 1
      if (message.kind !== 'slice' || slices !== 2) return message
      device.worker.mumble()
      return undefined
    }
    const client = device.client(device.options)
    expect(await failure(device, client)).toMatchObject({ name: 'NetworkError', retryable: true })
    expect(client.count('Issue')).toBe(0)
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 3_000 })
  })

  test.each(['slice', 'end'])('without a word before %s: the page waits a minute for it', async (kind) => {
    const device = new WorkerDevice()
    fill(device, 3_000)
    let silent = false
    device.edit = (message) => {
      silent ||= message.kind === kind
      return silent ? undefined : message
    }
    const client = device.client(device.options)
    const began = device.clock.now()
    expect(await failure(device, client)).toMatchObject({ name: 'NetworkError', code: 'timeout' })
    expect(Math.round((device.clock.now() - began) / 1_000)).toBe(60)
    expect(device.worker.terminated).toBe(true)
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', changes: 3_000 })
    expect(await device.clock.until(client.close().then(() => device.clock.timers))).toBe(0)
  })
})

test('where a worker may not reach the service, by a policy of its own, the page does it', async () => {
  const device = new WorkerDevice()
  fill(device, 10)
  const fetch: World['fetch'] = () => Promise.reject(new TypeError('Failed to fetch'))
  const worker = snapshotWorker(
    () => new FakeWorker({ world: { clock: device.clock, fetch }, store: device.store }),
  )
  const client = device.client({ ...device.options, worker })
  await client.start()
  await device.clock.advance(3_600_000)
  expect(client.count('Issue')).toBe(10)
  expect(device.warnings).toHaveLength(1)
})
