import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { machine, notesIn, type Process, rolesOf, write } from './machine.ts'

const lifecyclesOf = (...processes: readonly Process[]) =>
  processes.map(({ client }) => client.status.lifecycle)

/** Two processes, of which the second leads, and what each has written offline. One transaction was rejected. */
async function unsent() {
  const scene = await machine()
  const { server, start } = scene
  const processes = [await start(), await start()] as const
  server.reject('forbidden')
  write(processes[0], 'parked')
  await server.settle()
  for (const each of processes) each.disconnect()
  await server.settle()
  for (const [n, each] of processes.entries()) write(each, `w${n}`)
  await server.settle()
  const reconnect = () => {
    for (const each of processes) each.reconnect()
  }
  const logout = (who: 0 | 1, pending?: 'keep' | 'discard') =>
    server.clock.until(processes[who].client.logout({ pending }))
  return { ...scene, processes, reconnect, logout }
}

const ways = [
  ['leads', 1],
  ['follows', 0],
] as const

test.each(ways)('`logout` in the process that %s ends both, and deletes the files', async (_, who) => {
  const { server, folder, start } = await machine()
  const processes = [await start(), await start()] as const
  const result = await server.clock.until(processes[who].client.logout())
  expect(result).toEqual({ sent: 0, kept: 0, discarded: 0, rejected: 0, silentTabs: 0 })
  expect(lifecyclesOf(...processes)).toEqual(['signed-out', 'signed-out'])
  expect(processes.map(notesIn)).toEqual([[], []])
  expect(readdirSync(folder)).toEqual([])
})

test.each(ways)(
  'invariant 45: `logout` in the process that %s counts what both have not sent, and changes nothing without a choice',
  async (_, who) => {
    const { server, processes, ids, reconnect, logout } = await unsent()
    await expect(logout(who)).rejects.toMatchObject({ name: 'PendingError', pending: 2, rejected: 1 })
    expect(lifecyclesOf(...processes)).toEqual(['running', 'running'])
    reconnect()
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['n0', 'w0', 'w1'])
  },
)

test.each(ways)(
  'invariant 72: `logout` in the process that %s with `discard` deletes what both have not sent',
  async (_, who) => {
    const { server, processes, start, ids, reconnect, logout } = await unsent()
    const result = await logout(who, 'discard')
    expect(result).toEqual({ sent: 0, kept: 0, discarded: 3, rejected: 1, silentTabs: 0 })
    expect(lifecyclesOf(...processes)).toEqual(['signed-out', 'signed-out'])
    reconnect()
    const next = await start()
    await server.clock.advance(60_000)
    expect(next.client.outbox.list()).toEqual([])
    expect(await ids()).toEqual(['n0'])
  },
)

test.each(ways)(
  'invariant 72: `logout` in the process that %s with `keep` leaves it to the next process of the same user',
  async (_, who) => {
    const { server, processes, start, ids, reconnect, logout } = await unsent()
    const result = await logout(who, 'keep')
    expect(result).toEqual({ sent: 0, kept: 3, discarded: 0, rejected: 1, silentTabs: 0 })
    expect(lifecyclesOf(...processes)).toEqual(['signed-out', 'signed-out'])
    reconnect()
    await server.clock.advance(60_000)
    expect(await ids()).toEqual(['n0'])
    const next = await start()
    await server.settle()
    expect(await ids()).toEqual(['n0', 'w0', 'w1'])
    expect(next.client.status.writes).toEqual({ pending: 0, rejected: 1 })
  },
)

test.each(ways)(
  '`logout` in the process that %s with `flush` sends what both have not sent',
  async (_, who) => {
    const { server, folder, start, ids } = await machine()
    const processes = [await start(), await start()] as const
    for (const each of processes) each.disconnect()
    await server.settle()
    for (const [n, each] of processes.entries()) write(each, `w${n}`)
    await server.settle()
    for (const each of processes) each.reconnect()
    const result = await server.clock.until(processes[who].client.logout({ pending: 'flush' }))
    expect(result).toEqual({ sent: 2, kept: 0, discarded: 0, rejected: 0, silentTabs: 0 })
    expect(await ids()).toEqual(['n0', 'w0', 'w1'])
    expect(lifecyclesOf(...processes)).toEqual(['signed-out', 'signed-out'])
    expect(readdirSync(folder)).toEqual([])
  },
)

test('invariant 72: the processes of another identity go on as they were', async () => {
  const { server, folder, start } = await machine()
  const [ada, bob] = [await start(), await start({ identity: 'bob' })]
  const files = readdirSync(folder).length
  write(bob, 'his')
  await server.settle()
  await server.clock.until(ada.client.logout())
  expect(notesIn(bob)).toEqual(['his'])
  expect(lifecyclesOf(bob)).toEqual(['running'])
  expect(readdirSync(folder)).toHaveLength(files / 2)
})

test('a process that stood still while the user signed out sends nothing, and ends', async () => {
  const { server, start, ids } = await machine()
  const [first, second] = [await start(), await start()]
  second.freeze()
  await server.clock.advance(100)
  const result = await server.clock.until(first.client.logout())
  expect(result).toMatchObject({ silentTabs: 1 })
  const late = write(second, 'late')
  await server.clock.advance(1_000)
  second.thaw()
  await server.clock.advance(60_000)
  expect(await ids()).toEqual(['n0'])
  expect(lifecyclesOf(second)).toEqual(['signed-out'])
  expect(late.state).toBe('failed')
  const next = await start()
  expect(rolesOf(next)).toEqual(['leader'])
  expect(notesIn(next)).toEqual(['n0'])
})
