import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { discardBody, type Incoming, type Outgoing, sendResponse } from '../../src/server/node-http.ts'

/** An answer without an end. */
function endless() {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
    cancel: () => {
      isCancelled = true
    },
  })
  const ended = new Deferred<unknown>()
  return {
    /** Sends it until nothing of it is taken for `maxMs`. */
    send: (outgoing: Outgoing, maxMs: number) =>
      void sendResponse(new Response(body), outgoing, maxMs).catch((error) => ended.resolve(error)),
    isOver: async () => {
      expect(await ended.promise).toBeInstanceOf(Error)
      await expect.poll(() => isCancelled).toBe(true)
    },
  }
}

test('a client that stops reading a response loses its connection, and the response is released', async () => {
  const { send, isOver } = endless()
  const server = createServer((_, outgoing) => send(outgoing, 20))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.pause()
  client.write('GET / HTTP/1.1\r\nHost: sync.test\r\n\r\n')
  const [connection] = await once(server, 'connection')
  await once(connection, 'close')
  await isOver()
  client.destroy()
  server.close()
})

describe('over HTTP/2', () => {
  /** The client's side of a request that `answer` answers. */
  const asking = async (answer: (outgoing: Outgoing, incoming: Incoming) => unknown, method = 'GET') => {
    const server = createHttp2((incoming, outgoing) => void answer(outgoing, incoming))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      client.destroy()
      server.close()
    })
    return client.request({ ':method': method }).on('error', () => {})
  }

  test('a stream that stops reading is released, and looks incomplete to its client', async () => {
    const { send, isOver } = endless()
    const stream = await asking((outgoing) => send(outgoing, 20))
    await isOver()
    await expect(text(stream)).rejects.toThrow('Stream closed with error')
  })

  test('a client that does not end its request gets the complete response, and no error', async () => {
    const sent = new Deferred<void>()
    const stream = await asking((outgoing, incoming) => {
      discardBody(incoming)
      void sendResponse(new Response('all'), outgoing, 20).then(() => sent.resolve())
    }, 'POST')
    const closed = once(stream, 'close')
    expect(await text(stream)).toBe('all')
    await Promise.all([sent.promise, closed])
    expect(stream.rstCode).toBe(0)
  })

  const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants

  test.each([
    ['with an error', NGHTTP2_CANCEL],
    ['without an error', NGHTTP2_NO_ERROR],
  ])('a client that disconnects %s, before or during a response, leaves nothing behind', async (_, code) => {
    const { send, isOver } = endless()
    const begun = await asking((outgoing) => send(outgoing, 60_000))
    await once(begun, 'response')
    begun.close(code)
    await isOver()

    const late = endless()
    const asked = new Deferred<Outgoing>()
    const unanswered = await asking((outgoing) => asked.resolve(outgoing))
    const outgoing = await asked.promise
    unanswered.close(code)
    if ('stream' in outgoing) await once(outgoing.stream, 'aborted')
    late.send(outgoing, 60_000)
    await late.isOver()
  })
})
