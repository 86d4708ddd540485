import { describe, expect, test, vi } from 'vitest'
import type { Authorize, Prepare } from '../../src/server/index.ts'
import { ownServer } from '../support/own-server.ts'
import { newDevice, oneNote, rewriting } from '../support/test-backend.ts'

/** Says who has written a note first and last; a client may not say it. */
const stamp: Prepare = (op, { before, caller, now }) => {
  if (op.op === 'd') return op
  const created = op.op === 'i' ? { author: before?.author ?? caller.userId } : {}
  return { ...op, p: { ...op.p, ...created, changedBy: caller.userId, changedAt: now } }
}

const stamped = ['author', 'changedBy', 'changedAt']

const refuseStamps: Authorize = ({ ops }) => {
  const refused = ops.some((op) => op.op !== 'd' && stamped.some((field) => Object.hasOwn(op.p, field)))
  return refused ? { message: 'The server sets this field.' } : undefined
}

/** A server that stamps, and the client of Bob, who shares a team with Ada. */
async function sharedNotes() {
  const callerOf = (userId: string) => ({ userId, owners: ['team'] })
  const server = ownServer({ prepare: stamp, authorize: refuseStamps, callerOf })
  const clientOf = async (identity: string) => {
    const client = server.client({ identity })
    await client.start()
    await server.settle()
    return client
  }
  const client = await clientOf('bob')
  return {
    server,
    client,
    clientOf,
    write: async (body: Parameters<typeof client.mutate>[0]) => {
      const tx = client.mutate(body)
      await server.settle()
      await server.clock.advance(1_000)
      return tx
    },
    undo: async () => {
      await server.clock.until(client.undo())
      await server.settle()
    },
    stored: async (id = '1') => (await server.rows('team')).find((row) => row.id === id)?.p,
    refused: () => client.outbox.list({ state: 'rejected' }).map(({ rejection }) => rejection?.message),
  }
}

describe('undo at a server that sets fields, which no client may set,', () => {
  test('restores what the user has updated', async () => {
    const { client, write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.' }))
    await write((m) => m.update('Note', '1', { text: 'Second.' }))
    await undo()
    expect(refused()).toEqual([])
    expect(await stored()).toMatchObject({ text: 'First.', author: 'bob' })
    expect(client.get('Note', '1')).toMatchObject((await stored()) ?? {})
  })

  test('removes a field that the user has added', async () => {
    const { write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.' }))
    await write((m) => m.update('Note', '1', { color: 'red' }))
    await undo()
    expect(refused()).toEqual([])
    expect(await stored()).not.toHaveProperty('color')
  })

  test('restores what the user has put in place of a whole record', async () => {
    const { write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.', color: 'red' }))
    await write((m) => m.put('Note', { id: '1', text: 'Second.' }))
    await undo()
    expect(refused()).toEqual([])
    expect(await stored()).toMatchObject({ text: 'First.', color: 'red' })
  })

  test('brings a removed record of somebody else back as it was', async () => {
    const { server, client, clientOf, write, undo, stored, refused } = await sharedNotes()
    const ada = await clientOf('ada')
    ada.mutate((m) => m.insert('Note', { id: '1', text: 'From Ada.' }))
    await server.settle()
    const before = await stored()
    await server.clock.advance(1_000)
    await write((m) => m.delete('Note', '1'))
    await undo()
    expect(refused()).toEqual([])
    expect(before).toMatchObject({ author: 'ada' })
    expect(await stored()).toEqual(before)
    expect(client.get('Note', '1')).toMatchObject(before ?? {})
  })

  test('and redo remove and bring back a record any number of times', async () => {
    const { server, client, write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.' }))
    const before = await stored()
    await write((m) => m.delete('Note', '1'))
    for (let n = 0; n < 3; n += 1) {
      await undo()
      expect(await stored()).toEqual(before)
      await server.clock.until(client.redo())
      await server.settle()
      expect(await stored()).toBeUndefined()
    }
    expect(refused()).toEqual([])
  })

  test('brings an added record back as it was when the redo comes', async () => {
    const { server, client, write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.' }))
    const before = await stored()
    await undo()
    expect(await stored()).toBeUndefined()
    await server.clock.advance(1_000)
    await server.clock.until(client.redo())
    await server.settle()
    expect(refused()).toEqual([])
    expect(await stored()).toEqual(before)
  })

  test('and redo repeat an update', async () => {
    const { server, client, write, undo, stored, refused } = await sharedNotes()
    await write((m) => m.insert('Note', { id: '1', text: 'First.' }))
    await write((m) => m.update('Note', '1', { text: 'Second.' }))
    await undo()
    await server.clock.until(client.redo())
    await server.settle()
    expect(refused()).toEqual([])
    expect(await stored()).toMatchObject({ text: 'Second.' })
  })
})

test('an undo sends all fields to a server that does not know `restores`', async () => {
  const { backend, device } = newDevice()
  await backend.insert('1', { title: 'Milk', n: 1 })
  backend.intercept = rewriting('tx', (body) => ({ ...body, features: ['was'] }))
  backend.push = (message, send) => send('hello' in message ? { hello: { sid: backend.head } } : message)
  const client = await device.live()
  await backend.clock.until(client.mutate((m) => m.delete('Note', '1')).synced)
  const sent: string[] = []
  const intercept = backend.intercept
  backend.intercept = async (request, pass) => {
    if (request.url.endsWith('/tx')) sent.push(await request.clone().text())
    return intercept(request, pass)
  }
  await backend.clock.until(client.undo())
  await backend.clock.advance(10_000)
  expect(await backend.rows()).toEqual({ 1: { title: 'Milk', n: 1 } })
  expect(sent.join()).not.toContain('restores')
})

test('an undo brings a record back that the server no longer has, with the fields that the client had', async () => {
  const { backend, client } = await oneNote()
  const rejected = vi.fn()
  client.on('rejected', rejected)
  client.mutate((m) => m.delete('Note', '1'))
  await backend.clock.advance(1_000)
  await backend.insert('2')
  await backend.clock.advance(1_000)
  await backend.server.trim(backend.head)
  await backend.clock.until(client.undo())
  await backend.clock.advance(60_000)
  expect(await backend.rows()).toMatchObject({ 1: { title: 'Milk', n: 1 } })
  expect(rejected).not.toHaveBeenCalled()
})

test('an undo does not bring back a record that somebody else has put and removed since', async () => {
  const { backend, client } = await oneNote()
  const rejected = vi.fn()
  client.on('rejected', rejected)
  client.mutate((m) => m.delete('Note', '1'))
  await backend.clock.advance(1_000)
  await backend.insert('1', { title: 'Other' })
  await backend.remove('1')
  await backend.clock.advance(1_000)
  await backend.clock.until(client.undo())
  await backend.clock.advance(60_000)
  expect([await backend.rows(), client.all('Note')]).toEqual([{}, []])
  expect(rejected).not.toHaveBeenCalled()
})
