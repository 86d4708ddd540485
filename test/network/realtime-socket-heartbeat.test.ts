import { describe, expect, test } from 'vitest'
import { linkSetup } from '../support/test-realtime-socket.ts'
import { settle } from '../support/virtual.ts'

describe('invariant 50: a black-holed socket is detected', () => {
  test('within two heartbeats: it is closed, reported as lost, and opened again', async () => {
    const { open, socket, sockets, clock, log } = linkSetup()
    await open()
    socket.expectHeartbeat(10_000)
    await clock.advance(19_999)
    expect(socket.state.name).toBe('open')
    await clock.advance(1)
    expect(log).toEqual(['opened', 'lost open 0'])
    expect([sockets.last.closed, socket.state.name]).toEqual([true, 'waiting'])
    await clock.advance(4_000)
    expect([sockets.all.length, socket.state.name]).toEqual([2, 'opening'])
  })

  test('at once when the page becomes visible and a heartbeat is overdue', async () => {
    const { open, socket, sockets, clock, lifecycle } = linkSetup()
    await open()
    socket.expectHeartbeat(10_000)
    lifecycle.set({ visible: false })
    await clock.advance(10_001)
    lifecycle.set({ visible: true })
    await settle()
    expect([sockets.all.length, socket.state.name]).toEqual([2, 'opening'])
  })

  test('on online after offline, at once', async () => {
    const { open, sockets, lifecycle, socket } = linkSetup()
    await open()
    lifecycle.set({ online: false })
    lifecycle.set({ online: true })
    await settle()
    expect([sockets.all.length, socket.state.name]).toEqual([2, 'opening'])
  })
})

test('any message in time keeps the socket', async () => {
  const { open, socket, sockets, clock, lifecycle } = linkSetup()
  await open()
  socket.expectHeartbeat(10_000)
  for (let beat = 0; beat < 10; beat += 1) {
    await clock.advance(19_000)
    sockets.last.says('{}')
  }
  lifecycle.set({ visible: false })
  lifecycle.set({ visible: true })
  expect([sockets.all.length, socket.state.name]).toEqual([1, 'open'])
})

test('without heartbeats a silent socket is kept', async () => {
  const { open, socket, sockets, clock, lifecycle } = linkSetup()
  await open()
  lifecycle.set({ visible: false })
  await clock.advance(7 * 24 * 3_600_000)
  lifecycle.set({ visible: true })
  expect([sockets.all.length, socket.state.name]).toEqual([1, 'open'])
})

test('an expectation holds for its socket only', async () => {
  const { open, socket, sockets, clock } = linkSetup()
  await open()
  socket.expectHeartbeat(10_000)
  socket.renew()
  await settle()
  sockets.last.opens()
  await clock.advance(3_600_000)
  expect([sockets.all.length, socket.state.name]).toEqual([2, 'open'])
})

test('the expectation of a second socket ends with it, too', async () => {
  const { open, socket, sockets, clock, retry, log } = linkSetup()
  await open()
  socket.renew()
  await settle()
  sockets.last.opens()
  socket.expectHeartbeat(10_000)
  sockets.last.dies()
  await retry()
  sockets.last.opens()
  await clock.advance(3_600_000)
  expect(log).toEqual(['opened', 'lost open 0', 'opened', 'lost open 1006', 'opened'])
})

test('an expectation after the loss of its socket is ignored', async () => {
  const { open, socket, sockets, clock, log } = linkSetup()
  await open()
  sockets.last.dies()
  socket.expectHeartbeat(1_000)
  expect(clock.timers).toBe(1)
  await clock.advance(4_000)
  sockets.last.opens()
  await clock.advance(3_600_000)
  expect(log).toEqual(['opened', 'lost open 1006', 'opened'])
})

test('a new expectation replaces the old one; less than a second counts as one', async () => {
  const { open, socket, clock } = linkSetup()
  await open()
  socket.expectHeartbeat(60_000)
  socket.expectHeartbeat(0.001)
  await clock.advance(1_999)
  expect(socket.state.name).toBe('open')
  await clock.advance(1)
  expect(socket.state.name).toBe('waiting')
})

test('a heartbeat that is not a number is ignored', async () => {
  const { open, socket, clock } = linkSetup()
  await open()
  socket.expectHeartbeat(Number.NaN)
  await clock.advance(3_600_000)
  expect(socket.state.name).toBe('open')
})
