import { describe, expect, test } from 'vitest'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, dataOf, inStep, shown } from '../support/device.ts'

/** What another device would show that had this one's disk, and no network. */
async function storedBy(device: Device) {
  const { environment, store, clock } = device
  const fetch = () => Promise.reject(new TypeError('fetch failed'))
  const client = device.client({ store, environment: { ...environment, fetch, WebSocket: undefined } })
  await client.start()
  const stored = dataOf(client)
  await clock.until(client.close())
  return stored
}

/** What a restart without the network would show. */
async function afterRestart(device: Device) {
  await device.quit()
  return storedBy(device)
}

describe('after every opening of the socket', () => {
  test('invariant 4: one delta is fetched from the position, even if nothing changed', async () => {
    const { device } = await inStep({ 1: {} })
    expect(device.requests).toEqual(['ws', 'bootstrap', 'delta 1'])
    device.server.sockets.end()
    await device.clock.advance(5_000)
    expect(device.requests.slice(3)).toContain('ws')
    expect(device.requests.at(-1)).toBe('delta 1')
  })

  test('invariant 3: a push during catch-up waits for the delta, and its sid is not stored before', async () => {
    const { device, client } = await inStep({ 1: {} })
    device.server.sockets.end()
    device.insert('2')
    device.server.failNext(faults.silent(), { path: '/delta', times: 9 })
    await device.clock.advance(5_000)
    expect(device.server.sockets.count()).toBe(1)
    // The socket is open again, and the delta that is to catch up gets no answer.
    device.insert('3')
    await device.clock.advance(100)
    expect(client.lastSyncId).toBe(1)
    expect(await storedBy(device)).toEqual({ shown: { 1: {} }, lastSyncId: 1 })
    device.server.heal()
    await device.clock.advance(90_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  })

  test('a change during the outage is shown', async () => {
    const { device, client } = await inStep()
    device.server.sockets.end()
    device.insert('1')
    await device.clock.advance(5_000)
    expect(shown(client)).toEqual({ 1: {} })
    expect(client.status.connection.state).toBe('socket')
  })
})

describe('a push during a fetch', () => {
  /** Lets a record be inserted behind what the next answer of `path` has, which is `status` then. */
  const insertBehind = (device: Device, path: string, status?: number) => {
    const fault: BareFault = (answer) => {
      device.insert('2')
      return status === undefined ? answer : { ...answer, status, body: [] }
    }
    device.server.failNext(fault, { path })
  }

  test('is shown together with the delta', async () => {
    const device = new Device()
    device.insert('1')
    insertBehind(device, '/delta')
    const client = await device.live()
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('keeps waiting if the delta fails', async () => {
    const device = new Device()
    device.insert('1')
    insertBehind(device, '/delta', 503)
    device.server.failNext(faults.answer(503), { path: '/delta', times: 3 })
    const client = await device.live()
    expect(device.requests.filter((request) => request.startsWith('delta')).length).toBeGreaterThan(0)
    expect(shown(client)).toEqual({ 1: {} })
    await device.clock.advance(20_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('is shown after the snapshot that replaces the data, and not removed by it', async () => {
    const { device, client } = await inStep({ 1: {} })
    const seen: string[] = []
    client.on('change', () => seen.push(Object.keys(shown(client)).join()))
    device.server.failNext(faults.gone(), { path: '/delta' })
    insertBehind(device, '/bootstrap')
    device.push('{"hint":true}')
    await device.clock.advance(2_000)
    expect(seen).toEqual(['1', '1,2'])
  })

  test('is shown once a replacing snapshot has failed', async () => {
    const { device, client } = await inStep({ 1: {} })
    device.server.failNext(faults.gone(), { path: '/delta' })
    insertBehind(device, '/bootstrap', 503)
    await device.clock.until(client.sync().catch(() => {}))
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })
})

describe('pushes without since', () => {
  test('invariant 2: 105 pushed before 103 loses nothing, shown or stored', async () => {
    const { device, client } = await inStep({ 1: { n: 0 } }, {}, { hold: true })
    device.server.held.length = 0
    device.update('1', { n: 1, m: 1 })
    device.update('1', { n: 2 })
    const [first, second] = device.server.held
    second?.send()
    await device.clock.advance(50)
    expect(shown(client)).toEqual({ 1: { n: 2 } })
    first?.send()
    await device.clock.advance(50)
    expect(shown(client)).toEqual({ 1: { n: 2, m: 1 } })
    await device.clock.advance(1_000)
    expect(await afterRestart(device)).toEqual({ shown: { 1: { n: 2, m: 1 } }, lastSyncId: 3 })
  })

  test('invariant 2: 103 never pushed loses nothing', async () => {
    const { device } = await inStep({ 1: {} }, {}, { hold: true })
    device.server.held.length = 0
    device.insert('2')
    device.insert('3')
    device.server.held.at(1)?.send()
    await device.clock.advance(1_000)
    expect(await afterRestart(device)).toEqual({ shown: { 1: {}, 2: {}, 3: {} }, lastSyncId: 3 })
  })

  test('invariant 2: a crash before the confirming delta goes back to what is proven', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { hold: true })
    device.server.held.length = 0
    device.insert('2')
    device.insert('3')
    device.server.held.at(1)?.send()
    await device.clock.advance(50)
    expect(client.lastSyncId).toBe(3)
    expect(await storedBy(device)).toEqual({ shown: { 1: {} }, lastSyncId: 1 })
  })

  test('do not count as durable by an earlier fetch', async () => {
    const { device, client } = await inStep({ 1: {} })
    const insertBehind: BareFault = (answer) => {
      device.insert('2')
      return answer
    }
    device.server.failNext(insertBehind, { path: '/delta' })
    const { sid } = await device.clock.until(client.sync())
    expect([sid, client.lastSyncId]).toEqual([1, 2])
    expect(await storedBy(device)).toEqual({ shown: { 1: {} }, lastSyncId: 1 })
  })

  test('are confirmed by one delta per burst, within a second', async () => {
    const { device } = await inStep({ 0: {} })
    const asked = device.requests.length
    for (let id = 1; id <= 20; id += 1) device.insert(`${id}`)
    await device.clock.advance(1_000)
    expect(device.requests.slice(asked)).toEqual(['delta 1'])
  })

  test('of several that share a sid, the first applies at once, the others by the delta', async () => {
    const { device, client } = await inStep({ 0: {} }, {}, { push: 'frames' })
    device.server.write(
      'ada',
      [
        { op: 'i', t: 'Issue', id: '1', p: {} },
        { op: 'i', t: 'Issue', id: '2', p: {} },
      ],
      { sharedSid: true },
    )
    await device.clock.advance(50)
    expect(Object.keys(shown(client))).toEqual(['0', '1', '2'])
    await device.clock.advance(1_000)
    expect(Object.keys((await afterRestart(device)).shown)).toEqual(['0', '1', '2'])
  })

  test('that come twice apply once', async () => {
    const { device, client } = await inStep({ 1: { n: 0 } }, {}, { hold: true })
    let changes = 0
    client.on('change', () => {
      changes += 1
    })
    device.server.held.length = 0
    device.update('1', { n: 1 })
    for (let time = 0; time < 3; time += 1) device.server.held[0]?.send()
    await device.clock.advance(2_000)
    expect({ changes, shown: shown(client) }).toEqual({ changes: 1, shown: { 1: { n: 1 } } })
  })
})

describe('other messages', () => {
  test.each(['sid', 'hint'] as const)('a %s alone is followed by a delta', async (push) => {
    const { device, client } = await inStep({ 1: {} }, {}, { push })
    await device.clock.advance(2_000)
    device.insert('2')
    await device.clock.advance(200)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('hints make a client ask at most once a second', async () => {
    const { device } = await inStep({ 1: {} }, {}, { push: 'none' })
    await device.clock.advance(5_000)
    const asked = device.requests.length
    for (let time = 0; time < 50; time += 1) {
      device.push('{"anything":true}')
      await device.clock.advance(100)
    }
    expect(device.requests.length - asked).toBeLessThanOrEqual(6)
  })

  test('a message that is not JSON is an anomaly, and syncing continues', async () => {
    const { device, client } = await inStep({ 1: {} })
    device.push('<ping>')
    device.insert('2')
    await device.clock.advance(2_000)
    expect(device.log).toEqual(['anomaly push: Ignored a socket message that is not JSON.'])
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })

  test('a push of thousands of changes is fetched as a delta, which is applied in turns', async () => {
    const { device, client } = await inStep({ 1: {} })
    const before = device.requests.length
    const ops = Array.from({ length: 3_000 }, (_, n) => ({
      op: 'i' as const,
      t: 'Issue',
      id: `n${n}`,
      p: {},
    }))
    device.server.write('ada', ops)
    await device.clock.advance(5_000)
    expect(client.count('Issue')).toBe(3_001)
    expect(device.requests.slice(before)).toEqual(['delta 1'])
  })

  test('a flood of pushes during catch-up is dropped and fetched', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = device.client()
    await client.start()
    device.network.latencyMs = 500
    while (device.server.sockets.count() === 0) await device.clock.advance(100)
    const frame = (sid: number) => ({ sid, t: 'Issue', id: `${sid}`, op: 'i', p: {} })
    const flood = Array.from({ length: 25_000 }, (_, index) => frame(index + 2))
    device.push(flood)
    // The delta that is to catch up has been answered without these.
    while (!device.requests.includes('delta 1')) await device.clock.advance(100)
    for (let id = 2; id <= 5; id += 1) device.insert(`${id}`)
    await device.clock.advance(10_000)
    expect(Object.keys(shown(client))).toEqual(['1', '2', '3', '4', '5'])
  })
})

describe('without a socket', () => {
  test('after a loss, a client is connecting and not polling until the next one opens', async () => {
    const { device, client } = await inStep()
    const seen: string[] = []
    client.on('status', ({ connection }) => seen.push(connection.state))
    device.server.sockets.end()
    await device.clock.advance(50)
    expect(client.status.connection).toEqual({ state: 'connecting' })
    await device.clock.advance(10_000)
    expect([...new Set(seen)]).toEqual(['connecting', 'socket'])
  })

  test('a client is connecting until its first fetch', async () => {
    const device = new Device()
    const client = device.client({ environment: { ...device.environment, WebSocket: undefined } })
    const seen: string[] = []
    client.on('status', ({ connection }) => seen.push(connection.state))
    await client.start()
    await device.clock.advance(1_000)
    expect([...new Set(seen)]).toEqual(['connecting', 'polling'])
  })

  test('a client polls', async () => {
    const device = new Device()
    device.insert('1')
    const client = await device.live({
      environment: { ...device.environment, WebSocket: undefined },
      pollInterval: 10_000,
    })
    expect(client.status).toMatchObject({ connection: { state: 'polling' }, data: { state: 'current' } })
    device.insert('2')
    await device.clock.advance(10_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.requests).toEqual(['bootstrap', 'delta 1'])
  })

  test('a server without rows is polled by bootstrap at the same pace', async () => {
    const device = new Device()
    const client = await device.live({
      environment: { ...device.environment, WebSocket: undefined },
      pollInterval: 10_000,
    })
    expect(client.status).toMatchObject({ data: { state: 'current' }, lastSyncId: 0 })
    await device.clock.advance(20_000)
    expect(device.requests).toEqual(['bootstrap', 'bootstrap', 'bootstrap'])
    device.insert('1')
    await device.clock.advance(10_000)
    expect(shown(client)).toEqual({ 1: {} })
  })
})

describe('a socket that says nothing', () => {
  test('is replaced when a poll finds changes', async () => {
    const { device, client } = await inStep({ 1: {} }, { pollInterval: 10_000 }, { push: 'none' })
    device.insert('2')
    await device.clock.advance(11_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.server.sockets.opened).toBe(2)
  })

  test('is not supplemented by polls before it was silent for a while', async () => {
    const { device } = await inStep({ 1: {} }, { pollInterval: 10_000 }, { push: 'none' })
    const asked = device.requests.length
    for (let time = 0; time < 10; time += 1) {
      await device.clock.advance(6_000)
      device.push('{"sid":1}')
    }
    expect(device.requests.length).toBe(asked)
    await device.clock.advance(11_000)
    expect(device.requests.slice(asked)).toEqual(['delta 1'])
  })

  test('is kept if a poll finds no changes, whatever is fetched afterwards', async () => {
    const { device, client } = await inStep({ 1: {} }, { pollInterval: 10_000 }, { push: 'none' })
    await device.clock.advance(11_000)
    device.insert('2')
    await device.clock.until(client.sync())
    await device.clock.advance(1_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.server.sockets.opened).toBe(1)
  })
})

describe('the environment', () => {
  test('a client catches up when the page becomes visible, and when the network comes back', async () => {
    const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
    device.environment.lifecycle.set({ visible: false })
    device.insert('2')
    device.environment.lifecycle.set({ visible: true })
    await device.clock.advance(100)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    device.environment.lifecycle.set({ online: false })
    expect(client.status.connection).toEqual({ state: 'offline' })
    device.insert('3')
    device.environment.lifecycle.set({ online: true })
    await device.clock.advance(4_100)
    expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  })
})
