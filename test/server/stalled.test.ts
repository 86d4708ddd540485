import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { sendResponse } from '../../src/server/node-http.ts'

test('who takes nothing of an answer any more keeps neither its connection nor what the answer is made of', async () => {
  let isCancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      isCancelled = true
    },
  })
  let ended: Promise<unknown> = Promise.resolve()
  const server = createServer((_, outgoing) => {
    ended = sendResponse(new Response(endless), outgoing, 20).catch((error: unknown) => error)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause()
  client.write('GET / HTTP/1.1\r\nHost: sync.test\r\n\r\n')
  const [connection] = await once(server, 'connection')
  await once(connection, 'close')
  expect(await ended).toBeInstanceOf(Error)
  await expect.poll(() => isCancelled).toBe(true)
  client.destroy()
  server.close()
})
