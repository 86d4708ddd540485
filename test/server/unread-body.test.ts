import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { nodeHandler } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

/** A connection to a service, and the service's side of it. */
async function connected(): Promise<{ readonly client: Socket; readonly server: Socket }> {
  const server = createServer(nodeHandler(serviceOf().service))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [own] = await once(server, 'connection')
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  return { client: client.on('error', () => {}), server: own }
}

const head = (...fields: readonly string[]) =>
  `${['POST /sync/v1/tx HTTP/1.1', 'Host: sync.test', 'Authorization: Bearer token-of-ann', ...fields].join('\r\n')}\r\n\r\n`

const long = 100 * 1_048_576

/** Sends zeros for as long as they are taken. */
function sendOn(client: Socket): void {
  const piece = Buffer.alloc(1_048_576)
  const more = () => {
    while (client.writable && client.bytesWritten < long) if (!client.write(piece)) return
  }
  client.on('drain', more)
  more()
}

test.each([
  ['that is announced as too long', [`Content-Length: ${long}`]],
  ['that grows too long', ['Transfer-Encoding: chunked']],
])('a body %s is refused, its rest is not read, and the client gets the answer', async (_, fields) => {
  const { client, server } = await connected()
  client.write(head(...fields))
  if (fields.includes('Transfer-Encoding: chunked')) client.write(`${long.toString(16)}\r\n`)
  sendOn(client)
  const [answer] = await once(client, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 .*\r\nConnection: close\r\n/is)
  await once(server, 'close')
  expect(server.bytesRead).toBeLessThan(long / 10)
})

test('the connection of a short body that is refused before it comes can be used again', async () => {
  const { client } = await connected()
  client.write(head('Content-Encoding: gzip', 'Content-Length: 10'))
  const [answer] = await once(client, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 415 /)
  client.write(`0123456789GET /healthz HTTP/1.1\r\nHost: sync.test\r\n\r\n`)
  const [next] = await once(client, 'data')
  expect(String(next)).toMatch(/^HTTP\/1\.1 200 /)
})
