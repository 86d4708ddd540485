import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'

const agent = new Agent({ keepAlive: true })
const userOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sub

/** What users do that costs much: each is called with a user's token, again and again. Counts the answers in `count`. */
export const attacks = {
  /** Numbers of many digits from short texts. */
  async digits(url, token, count) {
    const ops = Array.from({ length: 100 }, (_, n) => price(userOf(token), n + 10, '1e131071'))
    await together(2, () => post(url, token, ops, count))
  },

  async 'one row'(url, token, count) {
    await together(1_000, (n) => post(url, token, [price(userOf(token), 10, String(n))], count))
  },

  async 'refused writes'(url, token, count) {
    const op = { op: 'u', t: 'Parent', id: userOf(token), p: { title: '' } }
    await together(100, () => post(url, token, [op], count))
  },

  /** A removal with many rows by cascade, and changes of long documents. */
  async 'much at once'(url, token, count) {
    const user = userOf(token)
    const documents = Array.from({ length: 9 }, (_, n) => price(user, n + 1, String(Math.random())))
    await together(2, (n) =>
      post(url, token, n === 0 ? [{ op: 'd', t: 'Parent', id: user }] : documents, count),
    )
  },

  async 'parallel writes'(url, token, count) {
    await together(1_000, (n) =>
      post(url, token, [price(userOf(token), 10 + n, String(Math.random()))], count),
    )
  },

  async 'long bodies'(url, token, count) {
    const text = 'x'.repeat(950)
    const ops = Array.from({ length: 1_000 }, (_, n) => {
      return { op: 'i', t: 'Issue', id: `${userOf(token)}-${n}`, put: true, p: { text } }
    })
    const json = JSON.stringify(ops)
    await together(60, () => postText(url, token, json, count))
  },

  /** Opens sockets that read nothing, and writes what is pushed to them. */
  async 'unread sockets'(url, token, count) {
    const sockets = []
    const open = async () => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      sockets.push(socket)
      const answer = await new Promise((resolve) => {
        socket.on('error', ({ message }) => resolve(message))
        socket.once('open', () => {
          socket._socket.pause()
          resolve('opened')
        })
      })
      count(answer)
    }
    await together(2_000, open)
    const op = { op: 'i', t: 'Issue', id: userOf(token), put: true, p: { text: 'x'.repeat(10_000) } }
    for (let n = 0; n < 300; n += 1) await post(url, token, [op], count)
    for (const socket of sockets) socket.terminate()
  },

  async snapshots(url, token, count) {
    const asked = request(`${url}/bootstrap`, { agent, headers: { Authorization: `Bearer ${token}` } })
    asked.end()
    const [answer] = await once(asked, 'response')
    let bytes = 0
    for await (const chunk of answer) bytes += chunk.length
    count(answer.statusCode === 200 ? `200 (${Math.round(bytes / 1e6)} MB)` : answer.statusCode)
    if (answer.statusCode !== 200) await pause(5_000)
  },
}

const together = (times, run) => Promise.all(Array.from({ length: times }, (_, n) => run(n)))

const price = (user, n, value) => ({ op: 'u', t: 'Doc', id: `${user}${n}`, p: { price: value } })

function post(url, token, ops, count) {
  return postText(url, token, JSON.stringify(ops), count)
}

/** Sends a transaction with ops in JSON: to write that takes the time of this process, if they are long. */
async function postText(url, token, ops, count) {
  const body = `{"txs":[{"id":"${crypto.randomUUID()}","since":0,"ops":${ops}}]}`
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  try {
    const asked = request(`${url}/tx`, { agent, method: 'POST', headers })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    const text = Buffer.concat(await answer.toArray()).toString()
    const [, code = 'accepted'] = /"code":"(\w+)"/.exec(text) ?? []
    count(code)
  } catch (error) {
    count(error.code ?? error.message)
  }
}
