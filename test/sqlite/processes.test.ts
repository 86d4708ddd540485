import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { machine, notesIn, rolesOf, write } from './machine.ts'

describe('two processes on one file', () => {
  test('have one leader, which alone talks to the server', async () => {
    const { server, start, asked } = await machine()
    const first = await start()
    const before = asked('ws')
    const second = await start()
    expect(rolesOf(first, second)).toEqual(['follower', 'leader'])
    expect(asked('ws') - before).toBe(1)
    const fetched = asked('delta')
    await server.clock.advance(60_000)
    expect(rolesOf(first, second)).toEqual(['follower', 'leader'])
    expect(asked('delta')).toBe(fetched)
  })

  test('show a change at the server within half a second, without a network in the one that follows', async () => {
    const { server, start } = await machine()
    const [first] = [await start(), await start()]
    first.disconnect()
    await server.write([{ op: 'i', t: 'Note', id: 'n1', p: {} }], 'ada')
    await server.clock.advance(500)
    expect(notesIn(first)).toEqual(['n0', 'n1'])
    expect(first.client.status.connection.state).toBe('socket')
  })

  test('invariant 68: a write of the one that follows is durable at once, and sent by the leader within half a second', async () => {
    const { server, start, ids, asked } = await machine()
    const [first, second] = [await start(), await start()]
    first.disconnect()
    const tx = write(first, 'mine')
    await tx.durable
    expect(first.client.status.writes.pending).toBe(1)
    await server.clock.advance(500)
    expect(await ids()).toEqual(['mine', 'n0'])
    expect(asked('tx')).toBe(1)
    await server.clock.advance(500)
    expect(tx.state).toBe('synced')
    expect(notesIn(second)).toEqual(['mine', 'n0'])
    expect(first.client.status.writes.pending).toBe(0)
    expect(second.client.status.writes.pending).toBe(0)
  })

  test('both count what is written offline, and agree once it is sent', async () => {
    const { server, start, ids } = await machine()
    const processes = [await start(), await start()] as const
    for (const each of processes) each.disconnect()
    await server.settle()
    const written = processes.map((each, n) => write(each, `w${n}`))
    await server.settle()
    for (const { client } of processes) expect(client.status.writes.pending).toBe(2)
    for (const each of processes) each.reconnect()
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['n0', 'w0', 'w1'])
    for (const tx of written) expect(tx.state).toBe('synced')
    for (const { client } of processes) expect(client.status.writes.pending).toBe(0)
  })

  test('`sync` of the one that follows resolves with the newest data', async () => {
    const { server, start } = await machine()
    const [first, second] = [await start(), await start()]
    server.hold()
    await server.write([{ op: 'i', t: 'Note', id: 'n1', p: {} }], 'ada')
    await server.clock.until(first.client.sync())
    expect(notesIn(first)).toEqual(['n0', 'n1'])
    expect(rolesOf(first, second)).toEqual(['follower', 'leader'])
  })

  test('the one that goes on leads when the other is closed, at once', async () => {
    const { server, start } = await machine()
    const [first, second] = [await start(), await start()]
    await server.clock.until(second.client.close())
    await server.clock.advance(250)
    await server.settle()
    expect(rolesOf(first)).toEqual(['leader'])
    expect(first.client.status.connection.state).toBe('socket')
  })

  test('invariant 40: the other leads within 5 s when the leader stands still, and keeps the lead when that one goes on', async () => {
    const { server, start, insert } = await machine()
    const [first, second] = [await start(), await start()]
    second.freeze()
    await server.clock.advance(5_000)
    expect(rolesOf(first)).toEqual(['leader'])
    await insert('n1')
    second.thaw()
    await server.clock.advance(1_000)
    expect(rolesOf(first, second)).toEqual(['leader', 'follower'])
    expect(notesIn(second)).toEqual(['n0', 'n1'])
  })

  test('invariant 70: what the one that follows wrote is sent when the leader stands still', async () => {
    const { server, start, ids, asked } = await machine()
    const [first, second] = [await start(), await start()]
    second.freeze()
    const tx = write(first, 'mine')
    await server.clock.advance(10_000)
    expect(await ids()).toEqual(['mine', 'n0'])
    expect(tx.state).toBe('synced')
    second.thaw()
    await server.clock.advance(10_000)
    expect(asked('tx')).toBe(1)
    expect(second.client.status.writes.pending).toBe(0)
  })

  test('no token is written to a disk', async () => {
    const { server, folder, start } = await machine()
    const [first] = [await start(), await start()]
    const token = server.token('ada')
    first.client.resume(token)
    await server.settle()
    const text = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
    expect(text.join()).toContain('"resume"')
    expect(text.join()).not.toContain(token)
  })
})
