import { expect, test } from 'vitest'
import { Connection, Push } from '../../src/server/realtime/connection.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { FakeSocket } from './harness.ts'

test('what is longer than any text can be closes its socket, whose client fetches it, and fails nothing else', () => {
  const socket = new FakeSocket()
  const limits = { heartbeatMs: 15_000, recheckMs: 60_000, maxBufferedBytes: 1_000 }
  const connection = new Connection(socket, { userId: 'ada' }, 0, new VirtualClock(), limits, () => {})
  const half = 'x'.repeat(2 ** 28)
  connection.push(new Push(1, [half, half, half]))
  expect([socket.texts, socket.closed]).toEqual([[], [1012, 'restart']])
})
