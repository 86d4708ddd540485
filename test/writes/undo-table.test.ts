import { describe, expect, test } from 'vitest'
import { memoryStore, type Store, type SyncClient } from '../../src/index.ts'
import { type BareOptions, mockSyncServer } from '../../src/testing/index.ts'
import { VirtualChannels } from '../../src/testing/virtual-channels.ts'
import { VirtualLocks } from '../../src/testing/virtual-locks.ts'
import { allPairs } from '../support/pairs.ts'
import { perOrigin } from '../support/per-origin.ts'
import { shown } from '../support/test-device.ts'

type Fields = { readonly [field: string]: unknown }
type Mutator = Parameters<Parameters<SyncClient['mutate']>[0]>[0]
type Records = { readonly [id: string]: Fields }

/** What the user does to one record, and what is there afterwards. */
const ops: { readonly [op: string]: { readonly write: (m: Mutator) => void; readonly after: Records } } = {
  insert: {
    write: (m) => m.insert('Note', { id: '2', title: 'Bread' }),
    after: { 1: { title: 'Milk', n: 1 }, 2: { title: 'Bread' } },
  },
  update: {
    write: (m) => m.update('Note', '1', { title: 'Oats', more: true }),
    after: { 1: { title: 'Oats', n: 1, more: true } },
  },
  delete: { write: (m) => m.delete('Note', '1'), after: {} },
  put: { write: (m) => m.put('Note', { id: '1', other: 1 }), after: { 1: { other: 1 } } },
}
const before: Records = { 1: { title: 'Milk', n: 1 } }

const moments = [
  'accepted',
  'synced',
  'redo at once',
  'redo after 20 ms',
  'redo after 100 ms',
  'redo after 500 ms',
  'after a restart',
  'in a follower',
] as const

/** A server, and the tabs of one device of Ada's. */
async function scene(bare: BareOptions | undefined) {
  const server = mockSyncServer({ latencyMs: 10, ...(bare && { bare }) })
  await server.write([{ op: 'i', t: 'Note', id: '1', p: { title: 'Milk', n: 1 } }], 'ada')
  const device = server.device()
  const store: Store = { ...memoryStore(), kind: 'durable', shared: perOrigin }
  const [locks, channels] = [new VirtualLocks(), new VirtualChannels()]
  const open = async () => {
    const environment = { locks: locks.page(), BroadcastChannel: channels.page() }
    const client = device.client({ identity: 'ada', store, pollInterval: 5_000, environment })
    await client.start()
    await server.clock.advance(2_000)
    return client
  }
  const rows = async (): Promise<Records> => {
    const all = await server.rows('ada')
    return Object.fromEntries(all.map(({ id, p: { userId: _, ...fields } }) => [id, fields]))
  }
  return { server, device, open, rows, wait: (ms: number) => server.clock.advance(ms) }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** After a minute, the server and all clients have the same records: these. */
async function expectEverywhere({ rows, wait }: Scene, clients: readonly SyncClient[], records: Records) {
  await wait(60_000)
  expect(await rows()).toEqual(records)
  for (const client of clients) {
    expect(shown(client, 'Note')).toEqual(records)
    expect(client.status.writes).toMatchObject({ pending: 0, rejected: 0 })
  }
}

async function undoesAndRedoes(bare: BareOptions | undefined, op: string, moment: (typeof moments)[number]) {
  const { write, after } = ops[op] ?? { write: () => {}, after: {} }
  const here = await scene(bare)
  const { server, device, open, wait } = here
  const { clock } = server
  const leader = await open()
  const client = moment === 'in a follower' ? await open() : leader
  const clients = [...new Set([leader, client])]
  const tx = client.mutate(write)

  if (moment === 'after a restart') {
    await clock.until(tx.accepted)
    device.disconnect()
    await clock.until(client.close())
    const again = await open()
    const found = again.outbox.get(tx.id)
    // The data that was stored contains the transaction: there is nothing that could be undone.
    if (!found) expect(shown(again, 'Note')).toEqual(after)
    else {
      expect(await clock.until(found.undo())).toMatchObject({ state: expect.any(String) })
      expect(shown(again, 'Note')).toEqual(before)
    }
    device.reconnect()
    await expectEverywhere(here, [again], found ? before : after)
    await server.close()
    return
  }

  await clock.until(moment === 'accepted' || moment === 'in a follower' ? tx.accepted : tx.synced)
  expect(await clock.until(client.undo())).toBe(true)
  expect(shown(client, 'Note')).toEqual(before)
  expect([client.canUndo, client.canRedo]).toEqual([false, true])
  const ms = moment.startsWith('redo') ? Number(/\d+/.exec(moment) ?? 0) : undefined
  if (ms === undefined) await expectEverywhere(here, clients, before)
  else await wait(ms)
  expect(await clock.until(client.redo())).toBe(true)
  expect(shown(client, 'Note')).toEqual(after)
  await expectEverywhere(here, clients, after)
  expect(await clock.until(client.undo())).toBe(true)
  await expectEverywhere(here, clients, before)
  await server.close()
}

const servers = {
  deltas: ['frames', 'rows'],
  pushes: ['frames', 'frame', 'rows', 'sid', 'none'],
  tx: [false, true],
  since: [false, true],
  pushAfterMs: [-100, 0, 100],
} as const

type BareScene = ReturnType<typeof allPairs<typeof axes>>[number]
const axes = { op: Object.keys(ops), moment: moments, ...servers }

/** Scenes of three axes at once, which no pair asks for. */
const triples: readonly BareScene[] = [
  {
    op: 'update',
    moment: 'accepted',
    deltas: 'frames',
    pushes: 'frames',
    tx: true,
    since: false,
    pushAfterMs: 0,
  },
  {
    op: 'update',
    moment: 'redo after 100 ms',
    deltas: 'frames',
    pushes: 'frames',
    tx: true,
    since: false,
    pushAfterMs: 0,
  },
  { op: 'insert', moment: 'synced', deltas: 'rows', pushes: 'rows', tx: false, since: false, pushAfterMs: 0 },
  { op: 'insert', moment: 'synced', deltas: 'rows', pushes: 'none', tx: false, since: false, pushAfterMs: 0 },
]

describe('undo and redo, at every server without the extensions', () => {
  test.each([...allPairs(axes), ...triples])(
    'of $op, $moment: $deltas, pushes $pushes after $pushAfterMs ms, tx $tx, since $since',
    async ({ op, moment, pushes, ...bare }) => {
      await undoesAndRedoes(pushes === 'none' ? { ...bare, socket: false } : { ...bare, pushes }, op, moment)
    },
  )
})

describe('undo and redo, at the own service', () => {
  test.each(allPairs({ op: Object.keys(ops), moment: moments }))(
    'of $op, $moment',
    async ({ op, moment }) => {
      await undoesAndRedoes(undefined, op, moment)
    },
  )
})

describe.each(['the leader', 'a follower'])('in %s, the undo of a removal that changed nothing', (place) => {
  async function removedTwice() {
    const here = await scene(undefined)
    const { server, open, wait } = here
    const leader = await open()
    const client = place === 'a follower' ? await open() : leader
    const other = server.device().client({ identity: 'ada' })
    await other.start()
    await wait(1_000)
    server.hold()
    await server.clock.until(other.mutate((m) => m.delete('Note', '1')).accepted)
    const removal = client.mutate((m) => m.delete('Note', '1'))
    await server.clock.until(removal.accepted)
    return { ...here, client, removal }
  }

  test('does not bring the record back', async () => {
    const { server, client, removal, rows, wait } = await removedTwice()
    server.release()
    await server.clock.until(removal.synced)
    expect(await server.clock.until(client.undo())).toBe(false)
    expect(client.canRedo).toBe(false)
    await wait(60_000)
    expect(await rows()).toEqual({})
    await server.close()
  })

  test('brings it back for nobody while the removal is only accepted', async () => {
    const { server, client, removal, rows, wait } = await removedTwice()
    const undoing = (await server.clock.until(removal.undo())) || undefined
    server.release()
    await wait(60_000)
    expect(undoing?.state).toBe('cancelled')
    expect(await rows()).toEqual({})
    expect(shown(client, 'Note')).toEqual({})
    await server.close()
  })
})

test.each<[string, BareOptions | undefined]>([
  ['the own service', undefined],
  ['a bare server', {}],
])('the undo of an insert that a snapshot brought keeps a field of somebody else: %s', async (_, bare) => {
  const { server, open, rows, wait } = await scene(bare)
  const client = await open()
  server.hold()
  const added = client.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await server.clock.until(added.accepted)
  server.drop()
  await server.trim()
  await server.clock.until(client.sync())
  expect(added.state).toBe('synced')
  await server.write([{ op: 'u', t: 'Note', id: '2', p: { theirs: true } }])
  await wait(10_000)
  expect(await server.clock.until(client.undo())).toBe(false)
  await wait(60_000)
  expect((await rows())[2]).toEqual({ title: 'Bread', theirs: true })
  await server.close()
})

test('the undo of an insert that a snapshot brought removes the record if nobody has changed it', async () => {
  const { server, open, rows, wait } = await scene({})
  const client = await open()
  server.hold()
  const added = client.mutate((m) => m.insert('Note', { id: '2', title: 'Bread' }))
  await server.clock.until(added.accepted)
  server.drop()
  await server.trim()
  await server.clock.until(client.sync())
  expect(await server.clock.until(client.undo())).toBe(true)
  await wait(60_000)
  expect(await rows()).toEqual(before)
  await server.close()
})

test('the undo restores what somebody else wrote just before, which came together with the write', async () => {
  const { server, open, rows, wait } = await scene({})
  const client = await open()
  server.hold()
  await server.write([{ op: 'u', t: 'Note', id: '1', p: { title: 'Theirs' } }])
  const renamed = client.mutate((m) => m.update('Note', '1', { title: 'Mine' }))
  await server.clock.until(renamed.accepted)
  server.release()
  await server.clock.until(renamed.synced)
  expect(await server.clock.until(client.undo())).toBe(true)
  await wait(60_000)
  expect(await rows()).toEqual({ 1: { title: 'Theirs', n: 1 } })
  await server.close()
})

describe('of two users who do the same at the same time', () => {
  const removal = (m: Mutator) => m.delete('Note', '1')
  const update = (m: Mutator) => m.update('Note', '1', { title: 'Oats' })

  test.each<[string, BareOptions, (m: Mutator) => void, Records | undefined]>([
    ['both can undo a removal if frames do not name their `tx`', {}, removal, before],
    ['only the first can undo a removal if frames name their `tx`', { tx: true }, removal, undefined],
    ['only the first can undo a value if frames do not name their `tx`', {}, update, undefined],
    ['only the first can undo a value if frames name their `tx`', { tx: true }, update, undefined],
  ])('%s', async (_, bare, write, undone) => {
    const { server, open, rows, wait } = await scene(bare)
    const client = await open()
    const other = server.device().client({ identity: 'ada' })
    await other.start()
    await wait(1_000)
    server.hold()
    await server.clock.until(other.mutate(write).accepted)
    const written = client.mutate(write)
    await server.clock.until(written.accepted)
    server.release()
    await server.clock.until(written.synced)
    const after = await rows()
    expect(await server.clock.until(client.undo())).toBe(undone !== undefined)
    await wait(60_000)
    expect(await rows()).toEqual(undone ?? after)
    await server.close()
  })
})
