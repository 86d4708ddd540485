import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { Connection, type CredentialCheck, Push } from '../../src/server/realtime/connection.ts'
import { settle, VirtualClock } from '../support/virtual.ts'
import { FakeSocket } from './harness.ts'

const limits = { heartbeatMs: 15_000, recheckMs: 60_000, maxBufferedBytes: 1_000 }

test('a push that is longer than a string can be closes only its socket, and the client fetches a delta', () => {
  const socket = new FakeSocket()
  const connection = new Connection(socket, { userId: 'ada' }, 0, new VirtualClock(), limits, () => {})
  const half = 'x'.repeat(2 ** 28)
  connection.push(new Push(1, [half, half, half]))
  expect([socket.texts, socket.closed]).toEqual([[], [1012, 'restart']])
})

test('a disposed connection leaves no timer, not even the one for the end of its credentials', () => {
  const clock = new VirtualClock()
  const caller = { userId: 'ada', expiresAt: clock.now() + 2_592_000_000 }
  const connection = new Connection(new FakeSocket(), caller, 0, clock, limits, () => {})
  connection.watch(async () => 'same', clock)
  connection.hello('epoch', 'caller')
  expect(clock.timers).toBe(3)
  connection.dispose()
  expect(clock.timers).toBe(0)
})

test('a credential check that ends after the socket has gone does not close the socket again', async () => {
  const [clock, socket, standing] = [new VirtualClock(), new FakeSocket(), new Deferred<CredentialCheck>()]
  const connection = new Connection(socket, { userId: 'ada' }, 0, clock, limits, () => {})
  connection.watch(() => standing.promise, clock)
  await clock.advance(limits.recheckMs)
  connection.dispose()
  standing.resolve('gone')
  await settle()
  expect(socket.closed).toBeUndefined()
})
