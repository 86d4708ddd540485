import { once } from 'node:events'
import { memoryUsage } from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createSyncService, serve } from '../../src/server/index.ts'
import { insert } from './harness.ts'

test('unsent bytes for many sockets of one owner are held only once', async () => {
  const authenticate = async () => ({ userId: 'ann' })
  const options = { database: 'memory:', ownerField: 'userId', maxSockets: 200 } as const
  const service = createSyncService({ ...options, authenticate })
  const served = await serve(service, { port: 0, graceMs: 100 })
  const sockets = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = new WebSocket(`${served.url.replace('http', 'ws')}/ws`)
      await once(socket, 'message')
      socket.pause()
      return socket
    }),
  )
  onTestFinished(async () => {
    for (const socket of sockets) socket.terminate()
    await served.close()
    await service.close()
  })
  const before = memoryUsage().rss
  // More than what the two kernels keep for a connection.
  for (let n = 0; n < 8; n += 1) {
    await service.write([insert(String(n), { text: 'x'.repeat(1_000_000) })])
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((memoryUsage().rss - before) / 1_000_000).toBeLessThan(150)
})
