import { describe, expect, test } from 'vitest'
import type { SyncClient } from '../../src/index.ts'
import { type Desk, notes, Office } from '../support/office.ts'

/** What `desk` holds open. */
function left({ network, environment }: Desk) {
  return { sockets: network.sockets, calls: network.calls, listeners: environment.lifecycle.listeners }
}

/** Calls `act` once, when `client` is told to be `lifecycle`. */
function once(client: SyncClient, lifecycle: string, act: () => void): void {
  const off = client.on('status', (status) => {
    if (status.lifecycle !== lifecycle) return
    off()
    act()
  })
}

/** A desk on whose disk a transaction waits to be sent. */
async function withOneToSend(office: Office): Promise<Desk> {
  const desk = office.desk()
  const client = desk.client()
  await client.start()
  client.mutate((m) => m.insert('Note', { id: 'n1', userId: 'ada' }))
  await desk.kill()
  office.received.length = 0
  return desk
}

describe('a listener of the status that', () => {
  test.each(['stop', 'close'] as const)(
    'calls %s when it hears of a start leaves nothing running',
    async (end) => {
      const office = await Office.open()
      const desk = await withOneToSend(office)
      const client = desk.client()
      once(client, 'running', () => void client[end]())
      await client.start()
      await office.clock.advance(60_000)
      expect(client.status).toMatchObject({ connection: { state: 'idle' }, data: { state: 'none' } })
      expect(left(desk)).toEqual({ sockets: 0, calls: 0, listeners: 0 })
      expect(office.received).toEqual([])
    },
  )

  test('calls start when it hears of a stop has a client that runs, and one that ends', async () => {
    const office = await Office.open()
    const desk = office.desk()
    const client = await desk.live()
    once(client, 'stopped', () => void client.start())
    await office.clock.until(client.stop())
    client.mutate((m) => m.insert('Note', { id: 'mine', userId: 'ada' }))
    await office.insert('theirs')
    await office.clock.advance(10_000)
    expect(client.status).toMatchObject({ lifecycle: 'running', connection: { state: 'socket' } })
    expect(notes(client)).toEqual(await office.rows())
    await office.clock.until(client.close())
    await office.clock.advance(100)
    expect(left(desk)).toEqual({ sockets: 0, calls: 0, listeners: 0 })
  })
})

test.each(['stop', 'close'] as const)(
  'a token function that calls %s when it is first asked has nothing sent',
  async (end) => {
    const office = await Office.open()
    const desk = await withOneToSend(office)
    let asked = 0
    const client: SyncClient = desk.client({
      token: () => {
        asked += 1
        if (asked === 1) void client[end]()
        return 'ada'
      },
    })
    await client.start()
    await office.clock.advance(60_000)
    expect(client.status.connection).toEqual({ state: 'idle' })
    expect(office.received).toEqual([])
  },
)
