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

// What a server has to refuse: some databases cannot store it, or some engines cannot read it.
const isText = (value) => typeof value === 'string' && !/[\0\p{Surrogate}]/u.test(value)
const isName = (value) => isText(value) && value !== '__proto__' && value.length <= 255
const isValue = (value, levels) => {
  if (typeof value === 'string') return isText(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  const isField = ([name, item]) => isText(name) && name !== '__proto__' && isValue(item, levels - 1)
  return levels > 0 && Object.entries(value).every(isField)
}
const byName = ([a], [b]) => (a < b ? -1 : 1)
/** JSON with the keys in order: the same for the same value. */
const textOf = (value) =>
  JSON.stringify(value, (_, item) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(byName)) : item,
  )
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
// The record around `p` is a level, too.
const isOp = ({ op, t, id, p }) =>
  isName(t) && isName(id) && (op === 'd' || (['i', 'u'].includes(op) && isObject(p) && isValue(p, 499)))
const isTransaction = ({ id, since, ops }) =>
  isText(id) &&
  id !== '' &&
  id.length <= 64 &&
  Number.isSafeInteger(since) &&
  ops.length > 0 &&
  ops.every(isObject)

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
    const wrong = ops.findIndex((op) => !isOp(op))
    if (wrong >= 0)
      return { error: { code: 'invalid', message: 'An op is invalid.', details: { op: wrong } } }
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
    const isDone = (id) => verdicts.get(keyOf(userId, id))?.verdict.sid !== undefined
    const refused = { error: { code: 'dependency_rejected', message: 'What it requires was refused.' } }
    const wrong = tx.ops.findIndex((op) => !isOp(op))
    if (wrong >= 0)
      return { id: tx.id, error: { code: 'invalid', message: 'An op is invalid.', details: { op: wrong } } }
    const body = textOf([tx.ops, tx.requires ?? []])
    const first = verdicts.get(key)
    if (first)
      return first.body === body
        ? { id: tx.id, ...first.verdict }
        : {
            id: tx.id,
            error: {
              code: 'id_reused',
              message: 'The id is of another transaction.',
              details: first.verdict,
            },
          }
    const verdict = tx.requires?.every(isDone) === false ? refused : commit(userId, tx.ops, tx)
    verdicts.set(key, { body, verdict })
    return { id: tx.id, ...verdict }
  }

  async function answer(request, url) {
    if (request.method === 'OPTIONS') return [204]
    const user = userOf(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1])
    if (!user) return [401]
    if (url.pathname === '/sync/v1/bootstrap') return [200, snapshot(user)]
    if (url.pathname === '/sync/v1/tx') {
      const { txs } = await json(request)
      if (txs.length === 0 || !txs.every(isTransaction)) return [400]
      const results = txs.map((tx) => decide(user, tx))
      if (pushAfterMs < 0) await new Promise((resolve) => setTimeout(resolve, -pushAfterMs))
      return [200, { results, sid, epoch }]
    }
    if (url.pathname !== '/sync/v1/delta') return [404]
    const since = /^\d+$/.test(url.searchParams.get('since'))
      ? Number(url.searchParams.get('since'))
      : Number.NaN
    if (!Number.isSafeInteger(since)) return [400]
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
