import { describe, expect, test } from 'vitest'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'

/** A device whose server begins each socket with `hello`. */
function greeted(hello: object): Device {
  const device = new Device()
  const { sockets } = device.server
  const add = sockets.add.bind(sockets)
  sockets.add = (owner, peer) => {
    const gone = add(owner, peer)
    peer.send(JSON.stringify({ hello }))
    return gone
  }
  return device
}

describe('a hello', () => {
  test('must be reached before pushes are shown: a delta that ends below it is fetched again', async () => {
    const device = greeted({ sid: 2 })
    device.insert('1')
    device.server.failNext(faults.answer(200, '{"sid":1,"frames":[]}'), { path: '/delta', times: 2 })
    device.server.failNext(faults.answer(200, '{"sid":1,"rows":[]}'), { path: '/bootstrap' })
    device.insert('2')
    const client = await device.live()
    expect(device.requests).toEqual(['ws', 'bootstrap', 'delta 1', 'delta 1', 'delta 1'])
    expect(Object.keys(shown(client))).toEqual(['2'])
    expect(client.status).toMatchObject({ connection: { state: 'socket' }, lastSyncId: 2 })
  })

  test('that the first delta reaches causes no other request', async () => {
    const hello = { sid: 2 }
    const device = greeted(hello)
    device.insert('1')
    device.insert('2')
    await device.live()
    await device.clock.advance(5_000)
    device.push('{"hello":{"sid":2}}')
    await device.clock.advance(5_000)
    expect(device.requests).toEqual(['ws', 'bootstrap', 'delta 2'])
    device.server.sockets.end()
    hello.sid = device.insert('3')
    await device.clock.advance(10_000)
    expect(device.requests.slice(3)).toEqual(['ws', 'delta 2'])
  })

  test('is reached after every opening of the socket', async () => {
    const hello = { sid: 1 }
    const device = greeted(hello)
    device.insert('1')
    const client = await device.live()
    for (let time = 0; time < 5; time += 1) {
      device.server.sockets.end()
      await device.clock.advance(10_000)
    }
    device.server.sockets.end()
    hello.sid = device.insert('2')
    device.server.failNext(faults.answer(200, '{"sid":1,"frames":[]}'), { path: '/delta' })
    const asked = device.requests.length
    await device.clock.advance(10_000)
    expect(device.requests.slice(asked)).toEqual(['ws', 'delta 1', 'delta 1'])
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
  })

  test('with heartbeats does not count for a later socket without a hello', async () => {
    const device = greeted({ sid: 1, heartbeatMs: 20_000 })
    device.insert('1')
    const client = await device.live({ pollInterval: 10_000 })
    device.server.behaviour.push = 'none'
    device.server.sockets.add = Object.getPrototypeOf(device.server.sockets).add
    device.server.sockets.end()
    await device.clock.advance(5_000)
    expect(client.status.connection.state).toBe('socket')
    device.insert('2')
    await device.clock.advance(11_000)
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
  })

  test('before each close of the socket causes few requests', async () => {
    const device = greeted({ sid: 1 })
    const { sockets } = device.server
    const greet = sockets.add.bind(sockets)
    sockets.add = (owner, peer) => {
      const gone = greet(owner, peer)
      peer.close(1013, '')
      return gone
    }
    device.insert('1')
    const client = await device.live()
    await device.clock.advance(600_000)
    expect(device.requests.length).toBeLessThan(120)
    expect(client.status).toMatchObject({ connection: { state: 'polling' }, data: { state: 'current' } })
    sockets.add = greet
    await device.clock.advance(60_000)
    expect(client.status.connection.state).toBe('socket')
  })

  test('that no delta reaches is reported and causes few requests, and pushes are shown', async () => {
    const device = greeted({ sid: 1_000_000 })
    device.insert('1')
    const client = await device.live()
    expect(client.status).toMatchObject({ connection: { state: 'socket' }, data: { state: 'current' } })
    await device.clock.advance(600_000)
    expect(device.requests.length).toBeLessThan(40)
    device.insert('2')
    await device.clock.advance(50)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.log).toEqual(['error ProtocolError discontinuous'])
  })

  test('with heartbeats detects a silent socket without polling', async () => {
    const device = greeted({ sid: 1, heartbeatMs: 20_000 })
    device.insert('1')
    await device.live({ pollInterval: 5_000 })
    const asked = device.requests.length
    await device.clock.advance(38_000)
    expect(device.requests.length).toBe(asked)
    await device.clock.advance(10_000)
    expect(device.requests.slice(asked)).toContain('ws')
  })

  test('with heartbeats ends with its socket: then the client polls', async () => {
    const device = greeted({ sid: 1, heartbeatMs: 20_000 })
    device.insert('1')
    const client = await device.live({ pollInterval: 1_000 })
    device.server.failNext(faults.answer(503), { path: '/ws', times: 1_000 })
    device.server.sockets.end()
    await device.clock.advance(120_000)
    for (let n = 2; n < 12; n += 1) {
      device.insert(`${n}`)
      await device.clock.advance(1_500)
      expect(client.lastSyncId).toBe(n)
    }
  })
})
