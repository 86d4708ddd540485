// A custom backend in plain Node: the endpoints that a client of Instep uses, and little else.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { WebSocketServer } from 'ws'

const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type',
}
const keyOf = (...parts) => JSON.stringify(parts)

/**
 * Starts the backend. `userOf(token)`: returns the user of a valid token. `keep`: the number of changes to keep. `wire`:
 * how the backend speaks; a backend of your own needs one way only.
 */
export async function startBackend({ port = 0, userOf, keep = 10_000, wire = {} }) {
  const { deltas = 'frames', pushAfterMs = 0, hasSocket = true, hasTx = true, hasSince = false } = wire
  const epoch = randomUUID() // A new history for each process, since the data is in memory only.
  const rows = new Map()
  const log = []
  const verdicts = new Map()
  const sockets = new Map()
  let sid = 0

  const snapshot = (user) => ({
    sid,
    epoch,
    rows: [...rows.values()]
      .filter(({ userId }) => userId === user)
      .map(({ t, id, v, p }) => ({ t, id, v, p })),
  })
  const framesSince = (user, since) =>
    log.filter(({ userId, frame }) => userId === user && frame.sid > since).map(({ frame }) => frame)
  /** What has changed after `since`, for a delta or a push: frames, or whole rows. */
  const changesSince = (user, since) => {
    const frames = framesSince(user, since).map(({ tx, ...frame }) => (hasTx ? { ...frame, tx } : frame))
    const keys = new Set(frames.map(({ t, id }) => keyOf(t, id)))
    return deltas === 'frames'
      ? { frames }
      : { rows: snapshot(user).rows.filter(({ t, id }) => keys.has(keyOf(t, id))) }
  }
  const push = (user, since) => {
    const text = JSON.stringify({ sid, ...(hasSince && { since }), ...changesSince(user, since) })
    const send = () => {
      for (const [socket, owner] of sockets) if (owner === user) socket.send(text)
    }
    pushAfterMs > 0 ? setTimeout(send, pushAfterMs) : send()
  }

  /**
   * Applies all ops or none. Each change gets a `sid`, updates a row, and adds a frame to the log. All writes go here.
   */
  function commit(userId, ops, { id: tx, bases = [] } = {}) {
    const draft = new Map()
    const frames = []
    for (const { op, t, id, p, put, unchangedSince } of ops) {
      const key = keyOf(t, id)
      const found = draft.has(key) ? draft.get(key) : rows.get(key)
      const before = found?.userId === userId ? found : undefined
      const isOfOthers = (frame) => keyOf(frame.t, frame.id) === key && !bases.includes(frame.tx)
      const refused = (code) => ({ error: { code, message: `${t} ${id}: ${code}.` } })
      if (op === 'i' && found && !(put && before)) return refused('exists')
      if (op === 'u' && !before) return refused('not_found')
      if (unchangedSince < sid - log.length) return refused('conflict')
      if (framesSince(userId, unchangedSince).some(isOfOthers)) return refused('conflict')
      if (op === 'd' && !before) continue
      const v = sid + frames.length + 1
      draft.set(key, op === 'd' ? undefined : { userId, t, id, v, p: op === 'u' ? { ...before.p, ...p } : p })
      frames.push({ sid: v, op, t, id, p: op === 'd' ? undefined : p, tx })
    }
    for (const [key, row] of draft) row ? rows.set(key, row) : rows.delete(key)
    const since = framesSince(userId, 0).at(-1)?.sid ?? sid - log.length
    sid += frames.length
    log.push(...frames.map((frame) => ({ userId, frame })))
    if (frames.length > 0) push(userId, since)
    log.splice(0, log.length - keep)
    return { sid }
  }

  /** The result of a client's transaction. Kept, since a client sends a transaction again after a lost response. */
  function decide(userId, tx) {
    const key = keyOf(userId, tx.id)
    const isDone = (id) => verdicts.get(keyOf(userId, id))?.sid !== undefined
    const refused = { error: { code: 'dependency_rejected', message: 'What it requires was refused.' } }
    if (!verdicts.has(key))
      verdicts.set(key, {
        id: tx.id,
        ...(tx.requires?.every(isDone) === false ? refused : commit(userId, tx.ops, tx)),
      })
    return verdicts.get(key)
  }

  async function answer(request, url) {
    if (request.method === 'OPTIONS') return [204]
    const user = userOf(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1])
    if (!user) return [401]
    if (url.pathname === '/sync/v1/bootstrap') return [200, snapshot(user)]
    if (url.pathname === '/sync/v1/tx') {
      const { txs } = await json(request)
      const results = txs.map((tx) => decide(user, tx))
      if (pushAfterMs < 0) await new Promise((resolve) => setTimeout(resolve, -pushAfterMs))
      return [200, { results, sid, epoch }]
    }
    if (url.pathname !== '/sync/v1/delta') return [404]
    const since = Number(url.searchParams.get('since') ?? Number.NaN)
    if (!Number.isSafeInteger(since) || since < 0) return [400]
    if (since < sid - log.length) return [410]
    return [200, { sid, epoch, ...changesSince(user, since) }]
  }

  // Do not use `new URL`, which throws for some request targets.
  const urlOf = ({ url }) => {
    const [pathname, query] = url.split('?')
    return { pathname, searchParams: new URLSearchParams(query) }
  }
  const asText = ([status, body]) => [status, body && JSON.stringify(body)]
  const http = createServer(async (request, response) => {
    const [status, text] = await answer(request, urlOf(request))
      .then(asText)
      .catch(() => [400])
    response.writeHead(status, { ...cors, 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(text)
  })
  const upgrades = new WebSocketServer({ noServer: true })
  http.on('upgrade', (request, socket, head) => {
    // Without this listener, a connection reset before the upgrade would end the process.
    socket.on('error', () => {})
    const header = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const user = userOf(header ?? urlOf(request).searchParams.get('token'))
    if (!user) return socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n')
    if (!hasSocket) return socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
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
  const write = (userId, op) => {
    const { error, sid } = commit(userId, [op])
    if (error) throw new Error(error.message)
    return sid
  }
  return { baseUrl: `http://127.0.0.1:${http.address().port}/sync/v1`, write, close }
}
