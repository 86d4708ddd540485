import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import type { Fetch } from '../../src/base/environment.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import { resolveEndpoints } from '../../src/network/endpoints.ts'
import { createTransport } from '../../src/network/http.ts'
import { ListSink } from '../support/transport-calls.ts'
import { type LocalServer, localServer } from '../support/transport-servers.ts'
import { VirtualClock } from '../support/virtual.ts'

const rows = Array.from({ length: 20_000 }, (_, index) => ({
  t: 'Issue',
  id: `i${index}`,
  v: index,
  p: { title: `Größe “${index}” 😀`, path: 'C:\\', nested: { list: [1, [2, { a: ']}' }]] } },
}))
const snapshot = Buffer.from(JSON.stringify({ sid: 7, count: rows.length, rows }))

let server: LocalServer | undefined
afterEach(() => server?.close())

const realFetch: Fetch = (url, init) => fetch(url, init)

async function serve(listener: Parameters<typeof localServer>[0]) {
  server = await localServer(listener)
  const clock = new VirtualClock()
  const endpoints = resolveEndpoints({ baseUrl: `http://127.0.0.1:${server.port}/sync/v1` }, undefined)
  const credentials = createCredentials({ token: 's3cret' })
  const transport = createTransport({
    environment: { fetch: realFetch, clock },
    endpoints,
    credentials,
  })
  return { server, clock, transport, sink: new ListSink() }
}

describe('a snapshot over a real connection', () => {
  test('in chunks of every size', async () => {
    const { transport, sink, server } = await serve(async (_, response) => {
      for (let at = 0, size = 1; at < snapshot.length; at += size, size = (size * 3) % 70_001) {
        await new Promise((resolve) => response.write(snapshot.subarray(at, at + size), resolve))
      }
      response.end()
    })
    expect(await transport.bootstrap(sink)).toEqual({ sid: 7, count: rows.length })
    expect(sink.slices.flatMap((slice) => slice.rows)).toEqual(rows)
    expect(sink.progresses.at(-1)).toEqual({ rows: rows.length, bytes: snapshot.length, fraction: 1 })
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer s3cret',
      accept: 'application/json',
    })
  })

  test.each([
    [
      'cut off by a dying server',
      { code: 'unreachable' },
      (response: ServerResponse) => response.write(snapshot.subarray(0, 500_000), () => response.destroy()),
    ],
    [
      'that a proxy ends early',
      { code: 'truncated' },
      (response: ServerResponse) => response.end(snapshot.subarray(0, 500_000)),
    ],
    [
      'that is wrongly marked as gzip',
      { code: 'unreachable' },
      (response: ServerResponse) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' })
        response.end(snapshot.subarray(0, 1000))
      },
    ],
    [
      'whose gzip is cut off',
      { retryable: true },
      (response: ServerResponse) => {
        response.writeHead(200, { 'Content-Encoding': 'gzip' })
        response.end(gzipSync(snapshot).subarray(0, 20_000))
      },
    ],
  ])('%s is a transient failure', async (_, error, answer) => {
    const { transport, sink, clock } = await serve((_, response) => {
      answer(response)
    })
    await expect(transport.bootstrap(sink)).rejects.toMatchObject({ retryable: true, ...error })
    expect(clock.timers).toBe(0)
  })
})

test('a redirect is not followed, so the credentials stay here', async () => {
  const { transport, server } = await serve((request, response) => {
    if (request.url?.startsWith('/sync')) response.writeHead(302, { Location: '/elsewhere' })
    response.end('{"sid":1,"rows":[]}')
  })
  await expect(transport.delta(1)).rejects.toMatchObject({ name: 'NetworkError', retryable: true })
  expect(server.requests).toHaveLength(1)
})
