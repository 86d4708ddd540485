import { describe, expect, test, vi } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { Outbox } from '../../src/mutations/outbox.ts'
import {
  at,
  type ClientOptions,
  inStep,
  notes,
  rewriting,
  TestBackend,
  type TestDevice,
  watched,
} from '../support/test-backend.ts'

interface Scene {
  readonly backend: TestBackend
  readonly device: TestDevice
}

const withoutPushes = ({ backend }: Scene) => {
  backend.push = () => {}
}
/** How the server's own comes back: each changes the scene before the write. */
const ways: { readonly [name: string]: (scene: Scene) => void } = {
  'with the answer': () => {},
  'before the answer': ({ backend }) => {
    backend.server.late(5_000, { endpoint: 'tx', times: Number.POSITIVE_INFINITY })
  },
  'after the answer': ({ backend }) => {
    backend.push = (message, send) => void backend.clock.after(700, () => send(message))
  },
  'long after the answer': ({ backend }) => {
    backend.push = (message, send) => void backend.clock.after(20_000, () => send(message))
  },
  'not at all on the socket': withoutPushes,
  'without since': ({ backend }) => {
    backend.push = ({ since: _, ...message }, send) => send(message)
  },
  'without since, and late': ({ backend }) => {
    backend.push = ({ since: _, ...message }, send) => void backend.clock.after(700, () => send(message))
  },
  'as rows, without who made them': (scene) => {
    withoutPushes(scene)
    const { backend } = scene
    backend.intercept = rewriting('delta', async ({ sid }) => {
      return { sid, rows: await backend.server.rows('ada') }
    })
  },
  'by a bootstrap': (scene) => {
    withoutPushes(scene)
    scene.backend.intercept = at('delta', async () => new Response(null, { status: 410 }))
  },
  'after a bootstrap in between': (scene) => {
    withoutPushes(scene)
    const { backend, device } = scene
    backend.intercept = at('tx', async (_, pass) => {
      await backend.insert('other')
      await backend.server.trim(99)
      device.network.killSockets()
      await backend.wait(40_000)
      return pass()
    })
  },
  'after another’s change': ({ backend }) => {
    backend.intercept = at('tx', async (_, pass) => {
      await backend.update('1', { n: 8 })
      await backend.insert('other')
      return pass()
    })
  },
  'by an answer that was lost': ({ backend, device }) => {
    let lost = false
    backend.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      if (lost) return response
      lost = true
      device.network.cut()
      backend.clock.after(3_000, () => device.network.mend())
      return response
    })
  },
}

async function open(prepare: (scene: Scene) => void, options: ClientOptions = {}) {
  const { backend, device, client } = await inStep({ 1: { title: 'old', n: 1 } }, options)
  prepare({ backend, device })
  const seen = watched(client, '1', 'title')
  return { backend, device, client, seen }
}

async function expectInStep(backend: TestBackend, client: SyncClient): Promise<void> {
  await backend.clock.advance(200_000)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect(notes(client)).toEqual(await backend.rows())
}

describe.each([
  ['a socket', {}],
  ['polling', { environment: { WebSocket: undefined } }],
])('with %s', (_, { environment }: { environment?: object }) => {
  test.each(Object.keys(ways))(
    'invariant 28: no old value is shown in between if the data of the server comes %s',
    async (way) => {
      const { backend, device, client, seen } = await open(ways[way] ?? (() => {}))
      if (environment) await device.kill()
      const chosen = environment
        ? device.client({ environment: { ...device.environment, ...environment } })
        : client
      await chosen.start()
      await backend.clock.advance(1_000)
      const all = environment ? watched(chosen, '1', 'title') : seen
      const tx = chosen.mutate((m) => m.update('Note', '1', { title: 'new' }))
      chosen.mutate((m) => m.update('Note', '1', { tag: 'x' }))
      await backend.clock.until(tx.synced)
      await expectInStep(backend, chosen)
      expect(all).toEqual(['new'])
      expect(chosen.get('Note', '1')).toMatchObject({ title: 'new', tag: 'x' })
    },
  )
})

test('invariant 28: a change that the data never contains ends with the next fetch, which shows the data of the server', async () => {
  const { backend, client, seen } = await open((scene) => {
    withoutPushes(scene)
    // The record is another's now: nothing of it comes, not even a position.
    scene.backend.intercept = rewriting('delta', (body) => ({ sid: body.sid, frames: [] }))
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  const sid = await backend.clock.until(tx.accepted)
  expect(tx.state).toBe('accepted')
  const acceptedAt = backend.clock.now()
  expect(await backend.clock.until(tx.synced)).toBe(sid)
  expect(backend.clock.now() - acceptedAt).toBeLessThan(1_200)
  expect([client.status.writes.pending, client.get('Note', '1')?.title]).toEqual([0, 'old'])
  expect(seen).toEqual(['new', 'old'])
})

test('a delta that was requested after the response is enough, even if it ends below the accepted sid', async () => {
  const { backend, client } = await open((scene) => {
    withoutPushes(scene)
    scene.backend.intercept = at('delta', async (request) =>
      Response.json({ sid: Number(new URL(request.url).searchParams.get('since')), frames: [] }),
    )
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  const before = backend.clock.now()
  await backend.clock.until(tx.synced)
  expect(backend.clock.now() - before).toBeLessThan(1_200)
})

test('invariant 28: a delta that began before the response proves nothing about a write', async () => {
  const { backend, client, seen } = await open(withoutPushes)
  backend.server.late(3_000, { endpoint: 'delta' })
  void client.sync()
  await backend.clock.advance(50)
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  await backend.clock.advance(2_000)
  expect(tx.state).toBe('accepted')
  await backend.clock.until(tx.synced)
  expect(seen).toEqual(['new'])
})

test('a snapshot that began before the response proves nothing about a write', async () => {
  const { backend, client, seen } = await open(withoutPushes)
  backend.server.wrong(410, { endpoint: 'delta' })
  backend.server.late(3_000, { endpoint: 'bootstrap' })
  const fetched = client.sync()
  await backend.clock.advance(50)
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  expect(await backend.clock.until(fetched)).toMatchObject({ kind: 'bootstrap' })
  expect(tx.state).toBe('accepted')
  await backend.clock.until(tx.synced)
  expect(seen).toEqual(['new'])
})

test('changes of somebody else to other fields are shown at once, and the later write wins', async () => {
  const { backend, client, seen } = await open(() => {})
  backend.intercept = at('tx', () => new Promise(() => {}))
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
  await backend.clock.advance(5_000)
  await backend.update('1', { title: 'theirs', n: 2 })
  await backend.clock.advance(1_000)
  expect(notes(client)).toEqual({ 1: { title: 'mine', n: 2 } })
  expect(client.confirmed('Note', '1')?.record).toMatchObject({ title: 'theirs', n: 2 })
  backend.intercept = (_, pass) => pass()
  await backend.clock.until(tx.synced)
  expect(notes(client)).toEqual({ 1: { title: 'mine', n: 2 } })
  await backend.update('1', { title: 'theirs again' })
  await backend.clock.advance(1_000)
  expect(seen).toEqual(['mine', 'theirs again'])
})

test('a record that two clients added is shown as the server has it, and a deleted one is not shown', async () => {
  const { backend, device, client } = await open(() => {})
  backend.intercept = at('tx', async () => new Response(null, { status: 503 }))
  client.mutate((m) => m.insert('Note', { id: '2', title: 'mine' }))
  client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
  await backend.insert('2', { title: 'theirs' })
  await backend.remove('1')
  await backend.clock.advance(1_000)
  expect(notes(client)).toEqual({ 2: { title: 'theirs' } })
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(60_000)
  expect(device.log.filter((line) => line.startsWith('rejected'))).toEqual([
    'rejected undefined exists',
    'rejected undefined not_found',
  ])
})

test('invariant 11: a write that a lost history had accepted is shown, and sent again under its id', async () => {
  const { backend, device, client, seen } = await open(withoutPushes, {
    echoTimeout: 3_600_000,
    pollInterval: 3_600_000,
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  await backend.server.restore()
  await backend.insert('1', { title: 'old', n: 1 })
  expect(tx.state).toBe('accepted')
  await backend.clock.until(client.sync())
  await backend.clock.until(tx.synced)
  await expectInStep(backend, client)
  expect(backend.received).toEqual([tx.id, tx.id])
  expect(seen).toEqual(['new'])
  expect(device.log).toContain('reset epoch since 1')
})

test('invariant 11: without an epoch, another history is noticed by its lower position', async () => {
  const without = ({ epoch: _, ...body }: { epoch?: string }) => body
  const backend = new TestBackend()
  for (const id of ['a', 'b', 'c']) await backend.insert(id)
  await backend.insert('1', { title: 'old' })
  backend.push = () => {}
  const strip = [rewriting('bootstrap', without), rewriting('delta', without)] as const
  backend.intercept = (request, pass) => strip[0](request, () => strip[1](request, pass))
  const device = backend.device()
  const client = await device.live({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  await backend.server.restore()
  await backend.insert('1', { title: 'old' })
  await backend.clock.until(client.sync())
  expect(device.log).toContain('reset restored since 4')
  await backend.clock.until(tx.synced)
  await backend.clock.until(client.sync())
  expect(await backend.rows()).toEqual({ 1: { title: 'new' } })
  expect(notes(client)).toEqual({ 1: { title: 'new' } })
})

test('invariant 11: a result from another history does not count, and that history is fetched first', async () => {
  const backend = new TestBackend()
  for (const id of ['a', 'b', 'c']) await backend.insert(id)
  await backend.insert('1', { title: 'old' })
  const device = backend.device()
  const client = await device.live({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  backend.push = () => {}
  const seen = watched(client, '1', 'title')
  await backend.server.restore()
  await backend.insert('1', { title: 'old' })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  expect(await backend.clock.until(tx.synced)).toBe(2)
  expect(device.log).toEqual(['reset restored since 4'])
  expect(seen).toEqual(['new'])
  expect(notes(client)).toEqual({ 1: { title: 'new' } })
  expect(await backend.rows()).toEqual({ 1: { title: 'new' } })
})

test('invariant 10: the outbox survives a position that is too old for the server', async () => {
  const { backend, device, client } = await open(() => {})
  device.network.cut()
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.durable)
  for (const id of ['a', 'b', 'c']) await backend.insert(id)
  await backend.server.trim(3)
  const again = await device.restart()
  await backend.clock.advance(60_000)
  expect(device.log).toContain('reset gone since 1')
  await expectInStep(backend, again)
  expect(again.get('Note', '1')?.title).toBe('new')
})

test('while the data does not come, accepting one write does not inspect all waiting ones', async () => {
  const { backend, device, client } = await inStep({ 1: {} })
  await client.stop()
  withoutPushes({ backend, device })
  backend.intercept = at('delta', async () => new Response(null, { status: 503 }))
  for (let n = 0; n < 50; n += 1) client.mutate((m) => m.insert('Note', { n }))
  const looks = vi.spyOn(Outbox.prototype, 'shownAt')
  await client.start()
  await backend.clock.advance(1_000)
  expect(client.outbox.list({ state: 'accepted' })).toHaveLength(50)
  expect(looks).not.toHaveBeenCalled()
  looks.mockRestore()
})
