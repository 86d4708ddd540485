// A backend of one's own, in plain Node: what every server gives a client of Instep, and little else.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'

const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'authorization' }

/** `userOf(token)` says whose token it is, if anybody's; `keep` is how many changes are remembered. */
export async function startBackend({ port = 0, userOf, keep = 10_000 }) {
  const epoch = randomUUID() // What is in memory ends with the process, and so does its history.
  const rows = new Map()
  const log = []
  const sockets = new Map()
  let sid = 0

  /** The only way in which anything changes: one number, one row, one line of the log, one push. */
  function write(userId, { op, t, id, p }) {
    const key = JSON.stringify([t, id])
    const before = rows.get(key)
    if (before && before.userId !== userId) throw new Error(`${t} ${id} is not ${userId}'s.`)
    if (op === 'd') rows.delete(key)
    else rows.set(key, { userId, t, id, p: op === 'u' ? { ...before?.p, ...p } : p })
    sid += 1
    const frame = { sid, op, t, id, ...(op === 'd' ? {} : { p }) }
    log.push({ userId, frame })
    if (log.length > keep) log.shift()
    for (const [socket, owner] of sockets) if (owner === userId) socket.send(JSON.stringify(frame))
    return sid
  }

  const snapshot = (user) => ({
    sid,
    epoch,
    rows: [...rows.values()].filter(({ userId }) => userId === user).map(({ t, id, p }) => ({ t, id, p })),
  })
  const framesSince = (user, since) =>
    log.filter(({ userId, frame }) => userId === user && frame.sid > since).map(({ frame }) => frame)

  function answer(request, url) {
    if (request.method === 'OPTIONS') return [204]
    const user = userOf(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1])
    if (!user) return [401]
    if (url.pathname === '/sync/v1/bootstrap') return [200, snapshot(user)]
    if (url.pathname !== '/sync/v1/delta') return [404]
    const since = Number(url.searchParams.get('since') ?? Number.NaN)
    if (!Number.isSafeInteger(since) || since < 0) return [400]
    if (since < sid - log.length) return [410]
    return [200, { sid, epoch, frames: framesSince(user, since) }]
  }

  const urlOf = (request) => new URL(request.url, 'http://localhost')
  const http = createServer((request, response) => {
    const [status, body] = answer(request, urlOf(request))
    response.writeHead(status, { ...cors, 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(body && JSON.stringify(body))
  })
  const upgrades = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    const header = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const user = userOf(header ?? urlOf(request).searchParams.get('token'))
    if (!user) return socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n')
    upgrades.handleUpgrade(request, socket, head, (opened) => {
      sockets.set(opened, user)
      opened.on('error', () => {}).on('close', () => sockets.delete(opened))
    })
  })
  await new Promise((resolve) => http.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    for (const socket of upgrades.clients) socket.close(1012)
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  }
  return { baseUrl: `http://127.0.0.1:${http.address().port}/sync/v1`, write, close }
}
