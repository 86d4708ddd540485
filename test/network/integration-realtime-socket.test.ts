import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { WebSocket as NodeSocket, WebSocketServer } from 'ws'
import type { WebSocketConstructor } from '../../src/base/environment.ts'
import { fallbackWebSocket } from '../../src/base/websocket.node.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import { createRealtimeSocket, type RealtimeSocket } from '../../src/network/realtime-socket.ts'
import { type LocalServer, localServer } from '../support/transport-servers.ts'
import { seededRandom, VirtualClock, VirtualLifecycle } from '../support/virtual.ts'

let server: LocalServer | undefined
let link: RealtimeSocket | undefined
afterEach(async () => {
  link?.stop()
  await server?.close()
})

/** A link to a server of this machine; `told` settles with the next thing that the listener hears. */
async function connect(WebSocket: WebSocketConstructor | undefined) {
  const local = await localServer(() => {})
  server = local
  const clock = new VirtualClock()
  const log: string[] = []
  let heard: () => void = () => {}
  const tell = (line: string) => {
    log.push(line)
    heard()
  }
  const made = createRealtimeSocket({
    environment: { WebSocket, clock, random: seededRandom(1), lifecycle: new VirtualLifecycle() },
    wsUrl: `ws://127.0.0.1:${local.port}/sync/v1/ws`,
    credentials: createCredentials({ token: 's3cret' }),
    listener: {
      opened: () => tell('opened'),
      message: (data) => tell(String(data)),
      lost: ({ wasOpen, code }) => tell(`lost ${wasOpen} ${code}`),
    },
  })
  link = made
  const told = async (lines: number) => {
    while (log.length < lines) {
      await new Promise<void>((resolve) => {
        heard = resolve
      })
    }
    return log
  }
  return { link: made, server: local, clock, told }
}

test('the socket of Node sends the token in a header', async () => {
  const { link, server, told } = await connect(fallbackWebSocket)
  const sockets = new WebSocketServer({ server: server.server })
  sockets.on('connection', (socket) => socket.send('{"sid":1}'))
  link.start()
  expect(await told(2)).toEqual(['opened', '{"sid":1}'])
  expect(server.requests[0]?.url).toBe('/sync/v1/ws')
  expect(server.requests[0]?.headers.authorization).toBe('Bearer s3cret')
})

test('a socket like that of a browser sends the token in the query', async () => {
  const { link, server, told } = await connect(NodeSocket as unknown as WebSocketConstructor)
  const sockets = new WebSocketServer({ server: server.server })
  sockets.on('connection', (socket) => socket.close(4401))
  link.start()
  expect(await told(2)).toEqual(['opened', 'lost true 4401'])
  expect(server.requests[0]?.url).toBe('/sync/v1/ws?token=s3cret')
  expect(server.requests[0]?.headers.authorization).toBeUndefined()
})

test('a refused upgrade and a dying server count as losses', async () => {
  const { link, server, told, clock } = await connect(fallbackWebSocket)
  server.server.once('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
  })
  link.start()
  expect(await told(1)).toEqual(['lost false 1006'])
  const sockets = new WebSocketServer({ server: server.server })
  sockets.on('connection', (socket) => socket.terminate())
  const { state } = link
  await clock.advance(state.name === 'waiting' ? state.retryAt - clock.now() : 0)
  expect((await told(3)).slice(1)).toEqual(['opened', 'lost true 1006'])
})

test('a server that breaks the protocol, and never closes its end, counts as lost within seconds', async () => {
  const { link, server, told } = await connect(fallbackWebSocket)
  server.server.once('upgrade', ({ headers }, socket) => {
    // What a server adds to the key (RFC 6455, section 1.3).
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n')
    socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
    // A frame that is masked, as those of a server are not.
    socket.write(Uint8Array.of(0x81, 0x80, 0, 0, 0, 0))
  })
  link.start()
  expect(await told(2)).toEqual(['opened', expect.stringMatching(/^lost true/)])
}, 10_000)
