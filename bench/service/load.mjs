// What loads the service, in a process of its own: it gets one job, and sends what came of it.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import { Client } from 'pg'
import { WebSocket } from 'ws'
import { attacks } from './attacks.mjs'

const agent = new Agent({ keepAlive: true })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(url, token, body) {
  const headers = {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(body && { 'Content-Type': 'application/json' }),
  }
  const asked = request(url, { agent, method: body ? 'POST' : 'GET', headers })
  asked.end(body)
  const [answer] = await once(asked, 'response')
  if (answer.statusCode !== 200) throw new Error(`${url} answered with ${answer.statusCode}.`)
  return answer
}

/** Sends a transaction of one insert; rejects where it is not accepted. */
async function write(url, token, id) {
  const op = { op: 'i', t: 'Issue', id, p: { title: 'Cable cut', status: 'open', text: 'x'.repeat(300) } }
  const answer = await ask(`${url}/tx`, token, JSON.stringify({ txs: [{ id, since: 0, ops: [op] }] }))
  const text = Buffer.concat(await answer.toArray()).toString()
  if (text.includes('"error"')) throw new Error(text)
}

const textOf = async (answer) => Buffer.concat(await answer.toArray()).toString()

/** Whether the parent process has said `end`. */
function ended() {
  const end = { isEnded: false, promise: once(process, 'message') }
  end.promise.then(() => {
    end.isEnded = true
  })
  return end
}

const jobs = {
  /** How long a bootstrap takes to its last byte. */
  async bootstrap({ url, token }) {
    const began = performance.now()
    let bytes = 0
    for await (const chunk of await ask(`${url}/bootstrap`, token)) bytes += chunk.length
    return { ms: performance.now() - began, bytes }
  },

  /** How long each of `tokens` takes to read an address to its last byte, by turns. */
  async turns({ address, tokens, rounds }) {
    const times = tokens.map(() => [])
    const bytes = tokens.map(() => 0)
    for (let round = 0; round < rounds; round += 1) {
      for (const [n, token] of tokens.entries()) {
        const began = performance.now()
        bytes[n] = 0
        for await (const chunk of await ask(address, token)) bytes[n] += chunk.length
        times[n].push(performance.now() - began)
      }
    }
    return { times, bytes }
  },

  /** Writes at a pace that waits for nothing; how long each takes to be on the last socket of its owner. */
  async fanOut({ url, tokens, socketsEach, receivers = socketsEach, perSecond, seconds }) {
    const waiting = new Map()
    const latencies = []
    const open = async (token) => {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
        headers: { Authorization: `Bearer ${token}` },
      })
      await once(socket, 'message')
      socket.on('message', (data) => {
        const at = performance.now()
        for (const [, id] of data.toString().matchAll(/"tx":"([^"]+)"/g)) {
          const sent = waiting.get(id)
          if (!sent) continue
          sent.sockets -= 1
          if (sent.sockets > 0) continue
          waiting.delete(id)
          latencies.push(at - sent.at)
        }
      })
    }
    const all = tokens.flatMap((token) => Array.from({ length: socketsEach }, () => token))
    for (let n = 0; n < all.length; n += 20) await Promise.all(all.slice(n, n + 20).map(open))

    let failed = 0
    const answers = []
    const start = performance.now()
    for (let n = 0; n < perSecond * seconds; n += 1) {
      const due = start + (n * 1_000) / perSecond
      while (performance.now() < due) await pause(due - performance.now())
      const id = `w${n}`
      waiting.set(id, { at: performance.now(), sockets: receivers })
      const answer = write(url, tokens[n % tokens.length], id)
      answers.push(
        answer.catch(() => {
          failed += 1
          waiting.delete(id)
        }),
      )
    }
    const sent = (answers.length * 1_000) / (performance.now() - start)
    await Promise.all(answers)
    for (let tries = 0; waiting.size > 0 && tries < 100; tries += 1) await pause(100)
    return { latencies, perSecond: sent, failed, lost: waiting.size }
  },

  /** Transactions through the service, as many at once as `lanes`. */
  async transactions({ url, tokens, lanes, seconds, prefix }) {
    const began = performance.now()
    let done = 0
    const lane = async (number) => {
      for (let n = 0; performance.now() - began < seconds * 1_000; n += 1) {
        await write(url, tokens[(number + n) % tokens.length], `${prefix}-${number}-${n}`)
        done += 1
      }
    }
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
    return { perSecond: (done * 1_000) / (performance.now() - began) }
  },

  /**
   * Until the parent process says `end`: the times of writes of one user and of requests for `/healthz`, at a pace that
   * waits for nothing, and the times until the user's socket receives the writes.
   */
  async watch({ url, token, prefix }) {
    let isEnded = false
    process.once('message', () => {
      isEnded = true
    })
    const [sent, sockets, writes, healths, failures] = [new Map(), [], [], [], []]
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    await once(socket, 'message')
    socket.on('message', (data) => {
      for (const [, id] of data.toString().matchAll(/"tx":"([^"]+)"/g)) {
        sockets.push(performance.now() - sent.get(id))
      }
    })
    const every = async (ms, times, request) => {
      const answers = []
      const start = performance.now()
      for (let n = 0; !isEnded; n += 1) {
        while (performance.now() < start + n * ms) await pause(start + n * ms - performance.now())
        const began = performance.now()
        const answered = request(n)
          .then(() => times.push(performance.now() - began))
          .catch((error) => failures.push(String(error)))
        answers.push(answered)
      }
      await Promise.all(answers)
    }
    const health = new URL('/healthz', url).href
    await Promise.all([
      every(50, writes, async (n) => {
        sent.set(`${prefix}-${n}`, performance.now())
        await write(url, token, `${prefix}-${n}`)
      }),
      every(100, healths, async () => void (await (await ask(health)).toArray())),
    ])
    await pause(1_000)
    socket.close()
    return { writes, healths, sockets, failures, unsent: sent.size - sockets.length }
  },

  /**
   * As `watch` for some seconds, with writes of records and of rows, deltas and `/healthz`. What begins in the first
   * `uncounted` seconds does not count: the process is cold, and nobody is connected yet.
   */
  async 'watch others'({ url, token, seconds, uncounted, prefix }) {
    const [times, failures, answers] = [{}, [], []]
    const { sid } = JSON.parse(await textOf(await ask(`${url}/bootstrap`, token)))
    const requests = {
      writes: (n) => write(url, token, `${prefix}-${n}`),
      'table writes': async (n) => {
        const ops = [{ op: 'u', t: 'Doc', id: `bob${n % 50}`, p: { price: String(n) } }]
        const text = await textOf(
          await ask(`${url}/tx`, token, JSON.stringify({ txs: [{ id: `${prefix}-t${n}`, since: 0, ops }] })),
        )
        if (text.includes('"error"')) throw new Error(text)
      },
      deltas: async () => void (await textOf(await ask(`${url}/delta?since=${sid}`, token))),
      '/healthz': async () => void (await textOf(await ask(new URL('/healthz', url).href))),
    }
    const every = async (ms, name) => {
      times[name] = []
      const start = performance.now()
      for (let n = 0; performance.now() < start + (uncounted + seconds) * 1_000; n += 1) {
        while (performance.now() < start + n * ms) await pause(start + n * ms - performance.now())
        const began = performance.now()
        const counts = began >= start + uncounted * 1_000
        const answered = requests[name](n)
          .then(() => counts && times[name].push(performance.now() - began))
          .catch((error) => failures.push(`${name}: ${error.message}`))
        answers.push(answered)
      }
    }
    await Promise.all(Object.keys(requests).map((name) => every(200, name)))
    await Promise.all(answers)
    return { times, failures }
  },

  /** Until the parent process says `end`: what each of `tokens` does again and again. Returns how often each answer came. */
  async attack({ url, tokens, what, afterSeconds }) {
    const end = ended()
    await pause(afterSeconds * 1_000)
    const counts = {}
    const count = (answer) => {
      counts[answer] = (counts[answer] ?? 0) + 1
    }
    const attackAs = async (token) => {
      while (!end.isEnded) await attacks[what](url, token, count)
    }
    await Promise.race([Promise.all(tokens.map(attackAs)), end.promise])
    return counts
  },

  /** Sends `bodies` at once. Returns how often each result came, and the longest time. */
  async post({ url, token, bodies }) {
    const results = {}
    const began = performance.now()
    const send = async (body) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
      const asked = request(`${url}/tx`, { agent, method: 'POST', headers })
      asked.end(body)
      const [answer] = await once(asked, 'response')
      const text = Buffer.concat(await answer.toArray()).toString()
      const [, code = answer.statusCode] = /"code":"(\w+)"/.exec(text) ?? []
      results[code] = (results[code] ?? 0) + 1
    }
    await Promise.all(bodies.map(send))
    return { results, ms: performance.now() - began }
  },

  /** Updates of single rows, each a transaction, over as many connections as `lanes`. */
  async updates({ database, table, rows, lanes, seconds, prefix }) {
    const clients = Array.from({ length: lanes }, () => new Client({ connectionString: database }))
    await Promise.all(clients.map((client) => client.connect()))
    const began = performance.now()
    let done = 0
    const lane = async (client, number) => {
      for (let n = number; performance.now() - began < seconds * 1_000; n += lanes) {
        const text = `update ${table} set title = $1 where id = $2`
        await client.query({ name: 'update', text, values: [`${prefix} ${n}`, (n % rows) + 1] })
        done += 1
      }
    }
    await Promise.all(clients.map(lane))
    const perSecond = (done * 1_000) / (performance.now() - began)
    await Promise.all(clients.map((client) => client.end()))
    return { perSecond }
  },

  /** Sends recorded transactions to the database itself, over as many connections as `lanes`. */
  async replay({ database, recorded, lanes }) {
    const clients = Array.from({ length: lanes }, () => new Client({ connectionString: database }))
    await Promise.all(clients.map((client) => client.connect()))
    // As the service has it, for statements that are prepared.
    await Promise.all(clients.map((client) => client.query('set plan_cache_mode = force_custom_plan')))
    let next = 0
    const began = performance.now()
    const lane = async (client) => {
      for (let statements = recorded[next++]; statements; statements = recorded[next++]) {
        for (const statement of statements) await client.query(statement)
      }
    }
    await Promise.all(clients.map(lane))
    const perSecond = (recorded.length * 1_000) / (performance.now() - began)
    await Promise.all(clients.map((client) => client.end()))
    return { perSecond }
  },
}

process.once('message', async ({ kind, ...job }) => {
  process.send(await jobs[kind](job))
})
