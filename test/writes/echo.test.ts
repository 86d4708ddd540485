import { describe, expect, test, vi } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { Outbox } from '../../src/mutations/outbox.ts'
import { at, type Desk, failure, notes, Office, rewriting, watched } from '../support/office.ts'

interface Scene {
  readonly office: Office
  readonly desk: Desk
}

const withoutPushes = ({ office }: Scene) => {
  office.push = () => {}
}
const afterMs = (office: Office, ms: number) =>
  new Promise<void>((resolve) => void office.clock.after(ms, resolve))

/** How the server's own comes back: each changes the scene before the write. */
const ways: { readonly [name: string]: (scene: Scene) => void } = {
  'with the answer': () => {},
  'before the answer': ({ office }) => {
    office.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      await afterMs(office, 5_000)
      return response
    })
  },
  'after the answer': ({ office }) => {
    office.push = (message, send) => void office.clock.after(700, () => send(message))
  },
  'long after the answer': ({ office }) => {
    office.push = (message, send) => void office.clock.after(20_000, () => send(message))
  },
  'not at all on the socket': withoutPushes,
  'without since': ({ office }) => {
    office.push = ({ since: _, ...message }, send) => send(message)
  },
  'without since, and late': ({ office }) => {
    office.push = ({ since: _, ...message }, send) => void office.clock.after(700, () => send(message))
  },
  'as rows, without who made them': (scene) => {
    withoutPushes(scene)
    const { office } = scene
    office.intercept = rewriting('delta', async ({ sid }) => {
      const rows: unknown[] = []
      for await (const batch of (await office.log.snapshot('ada')).batches)
        rows.push(...JSON.parse(`[${batch}]`))
      return { sid, rows }
    })
  },
  'by a bootstrap': (scene) => {
    withoutPushes(scene)
    scene.office.intercept = at('delta', async () => new Response(null, { status: 410 }))
  },
  'after a bootstrap in between': (scene) => {
    withoutPushes(scene)
    const { office, desk } = scene
    office.intercept = at('tx', async (_, pass) => {
      await office.insert('other')
      await office.log.trim(99)
      desk.network.killSockets()
      await afterMs(office, 40_000)
      return pass()
    })
  },
  'after another’s change': ({ office }) => {
    office.intercept = at('tx', async (_, pass) => {
      await office.update('1', { n: 8 })
      await office.insert('other')
      return pass()
    })
  },
  'by an answer that was lost': ({ office, desk }) => {
    let lost = false
    office.intercept = at('tx', async (_, pass) => {
      const response = await pass()
      if (lost) return response
      lost = true
      desk.network.cut()
      office.clock.after(3_000, () => desk.network.mend())
      return response
    })
  },
}

async function open(prepare: (scene: Scene) => void, options: Parameters<Desk['live']>[0] = {}) {
  const office = await Office.open()
  await office.insert('1', { title: 'old', n: 1 })
  const desk = office.desk()
  const client = await desk.live(options)
  prepare({ office, desk })
  const seen = watched(client, '1', 'title')
  return { office, desk, client, seen }
}

async function inStep(office: Office, client: SyncClient): Promise<void> {
  await office.clock.advance(200_000)
  expect(client.status.writes).toEqual({ pending: 0, rejected: 0 })
  expect(notes(client)).toEqual(await office.rows())
}

describe.each([
  ['a socket', {}],
  ['polling', { environment: { WebSocket: undefined } }],
])('with %s', (_, { environment }: { environment?: object }) => {
  test.each(Object.keys(ways))(
    'invariant 28: no old value shows in between where the server’s own comes %s',
    async (way) => {
      const { office, desk, client, seen } = await open(ways[way] ?? (() => {}))
      if (environment) await desk.kill()
      const chosen = environment
        ? desk.client({ environment: { ...desk.environment, ...environment } })
        : client
      await chosen.start()
      await office.clock.advance(1_000)
      const all = environment ? watched(chosen, '1', 'title') : seen
      const tx = chosen.mutate((m) => m.update('Note', '1', { title: 'new' }))
      chosen.mutate((m) => m.update('Note', '1', { tag: 'x' }))
      await office.clock.until(tx.synced)
      await inStep(office, chosen)
      expect(all).toEqual(['new'])
      expect(chosen.get('Note', '1')).toMatchObject({ title: 'new', tag: 'x' })
    },
  )
})

test('invariant 28: a change that the data never shows ends with the next fetch, and shows what is true', async () => {
  const { office, client, seen } = await open((scene) => {
    withoutPushes(scene)
    // The record is another's now: nothing of it comes, not even a position.
    scene.office.intercept = rewriting('delta', (body) => ({ sid: body.sid, frames: [] }))
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  const sid = await office.clock.until(tx.accepted)
  expect(tx.state).toBe('accepted')
  const acceptedAt = office.clock.now()
  expect(await office.clock.until(tx.synced)).toBe(sid)
  expect(office.clock.now() - acceptedAt).toBeLessThan(1_200)
  expect([client.status.writes.pending, client.get('Note', '1')?.title]).toEqual([0, 'old'])
  expect(seen).toEqual(['new', 'old'])
})

test('a position below the accepted sid is enough where a whole delta was asked for after the answer', async () => {
  const { office, client } = await open((scene) => {
    withoutPushes(scene)
    scene.office.intercept = at('delta', async (request) =>
      Response.json({ sid: Number(new URL(request.url).searchParams.get('since')), frames: [] }),
    )
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  const before = office.clock.now()
  await office.clock.until(tx.synced)
  expect(office.clock.now() - before).toBeLessThan(1_200)
})

test('invariant 28: a delta that began before the answer says nothing about it', async () => {
  const { office, client, seen } = await open(withoutPushes)
  let held = true
  office.intercept = at('delta', async (_, pass) => {
    const response = await pass()
    if (held) await afterMs(office, 3_000)
    held = false
    return response
  })
  void client.sync()
  await office.clock.advance(50)
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  await office.clock.advance(2_000)
  expect(tx.state).toBe('accepted')
  await office.clock.until(tx.synced)
  expect(seen).toEqual(['new'])
})

test('a snapshot that began before the answer says nothing about it either', async () => {
  const { office, client, seen } = await open(withoutPushes)
  const gone = at('delta', async () => failure(410, 'gone'))
  const late = at('bootstrap', async (_, pass) => {
    const response = await pass()
    await afterMs(office, 3_000)
    return response
  })
  office.intercept = (request, pass) => {
    office.intercept = late
    return gone(request, pass)
  }
  const fetched = client.sync()
  await office.clock.advance(50)
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  expect(await office.clock.until(fetched)).toMatchObject({ kind: 'bootstrap' })
  expect(tx.state).toBe('accepted')
  await office.clock.until(tx.synced)
  expect(seen).toEqual(['new'])
})

test('what somebody else changes meanwhile shows at once, field by field, and the later one holds', async () => {
  const { office, client, seen } = await open(() => {})
  office.intercept = at('tx', () => new Promise(() => {}))
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
  await office.clock.advance(5_000)
  await office.update('1', { title: 'theirs', n: 2 })
  await office.clock.advance(1_000)
  expect(notes(client)).toEqual({ 1: { title: 'mine', n: 2 } })
  expect(client.confirmed('Note', '1')?.record).toMatchObject({ title: 'theirs', n: 2 })
  office.intercept = (_, pass) => pass()
  await office.clock.until(tx.synced)
  expect(notes(client)).toEqual({ 1: { title: 'mine', n: 2 } })
  await office.update('1', { title: 'theirs again' })
  await office.clock.advance(1_000)
  expect(seen).toEqual(['mine', 'theirs again'])
})

test('a record that both added shows as the server has it; one that is gone shows nothing', async () => {
  const { office, desk, client } = await open(() => {})
  office.intercept = at('tx', async () => new Response(null, { status: 503 }))
  client.mutate((m) => m.insert('Note', { id: '2', title: 'mine' }))
  client.mutate((m) => m.update('Note', '1', { title: 'mine' }))
  await office.insert('2', { title: 'theirs' })
  await office.remove('1')
  await office.clock.advance(1_000)
  expect(notes(client)).toEqual({ 2: { title: 'theirs' } })
  office.intercept = (_, pass) => pass()
  await office.clock.advance(60_000)
  expect(desk.log.filter((line) => line.startsWith('rejected'))).toEqual([
    'rejected undefined exists',
    'rejected undefined not_found',
  ])
})

test('invariant 11: what a lost history had accepted is sent again under its id, and shown until then', async () => {
  const { office, desk, client, seen } = await open(withoutPushes, {
    echoTimeout: 3_600_000,
    pollInterval: 3_600_000,
  })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  await office.startOver()
  await office.insert('1', { title: 'old', n: 1 })
  expect(tx.state).toBe('accepted')
  await office.clock.until(client.sync())
  await office.clock.until(tx.synced)
  await inStep(office, client)
  expect(office.received).toEqual([tx.id, tx.id])
  expect(seen).toEqual(['new'])
  expect(desk.log).toContain('reset epoch')
})

test('invariant 11: without an epoch a history that went back is noticed by its position', async () => {
  const without = ({ epoch: _, ...body }: { epoch?: string }) => body
  const office = await Office.open()
  for (const id of ['a', 'b', 'c']) await office.insert(id)
  await office.insert('1', { title: 'old' })
  office.push = () => {}
  const strip = [rewriting('bootstrap', without), rewriting('delta', without)] as const
  office.intercept = (request, pass) => strip[0](request, () => strip[1](request, pass))
  const desk = office.desk()
  const client = await desk.live({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  await office.startOver()
  await office.insert('1', { title: 'old' })
  await office.clock.until(client.sync())
  expect(desk.log).toContain('reset restored')
  await office.clock.until(tx.synced)
  await office.clock.until(client.sync())
  expect(await office.rows()).toEqual({ 1: { title: 'new' } })
  expect(notes(client)).toEqual({ 1: { title: 'new' } })
})

test('invariant 11: an answer from another history is no verdict, and that history is fetched first', async () => {
  const office = await Office.open()
  for (const id of ['a', 'b', 'c']) await office.insert(id)
  await office.insert('1', { title: 'old' })
  const desk = office.desk()
  const client = await desk.live({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  office.push = () => {}
  const seen = watched(client, '1', 'title')
  await office.startOver()
  await office.insert('1', { title: 'old' })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  expect(await office.clock.until(tx.synced)).toBe(2)
  expect(desk.log).toEqual(['reset restored'])
  expect([seen, notes(client), await office.rows()]).toEqual([
    ['new'],
    { 1: { title: 'new' } },
    { 1: { title: 'new' } },
  ])
})

test('invariant 10: the outbox survives a position that the server no longer reaches back to', async () => {
  const { office, desk, client } = await open(() => {})
  desk.network.cut()
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.durable)
  for (const id of ['a', 'b', 'c']) await office.insert(id)
  await office.log.trim(3)
  await desk.kill()
  const again = await desk.live()
  await office.clock.advance(60_000)
  expect(desk.log).toContain('reset gone')
  await inStep(office, again)
  expect(again.get('Note', '1')?.title).toBe('new')
})

test('while the data does not come, each that is accepted costs no look at all that wait for it', async () => {
  const office = await Office.open()
  await office.insert('1')
  const desk = office.desk()
  const client = await desk.live()
  await client.stop()
  withoutPushes({ office, desk })
  office.intercept = at('delta', async () => new Response(null, { status: 503 }))
  for (let n = 0; n < 50; n += 1) client.mutate((m) => m.insert('Note', { n }))
  const looks = vi.spyOn(Outbox.prototype, 'shownAt')
  await client.start()
  await office.clock.advance(1_000)
  expect(client.outbox.list({ state: 'accepted' })).toHaveLength(50)
  expect(looks).not.toHaveBeenCalled()
  looks.mockRestore()
})
