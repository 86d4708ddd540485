import { type Store, SyncClient, type Transaction } from 'instep'
import { rowOf } from './data.mjs'
import { models } from './models.ts'

const pending = 1_000
const queued = 10_000

/** What the next delta brings. */
let next: object | undefined

/** A client that has the data, and whose transactions reach nobody. */
function open(url: string, identity: string, store: Store) {
  return new SyncClient({
    baseUrl: url,
    token: 'bench',
    identity,
    store,
    models,
    environment: {
      fetch: (input, init) => {
        if (input.endsWith('/tx')) return Promise.reject(new TypeError('Nobody is there.'))
        if (!next) return fetch(input, init)
        const answer = Response.json(next)
        next = undefined
        return Promise.resolve(answer)
      },
    },
  })
}

type Client = ReturnType<typeof open>

/** The figures of the write path over `rows` rows, in ms. */
export async function measureWrites(url: string, rows: number, store: Store) {
  const client = open(url, 'writes', store)
  await client.sync()
  const start = await timeToStart(url, store, rows, 0)
  await fill(client, rows, pending)
  let told = 0
  client
    .query('Issue', { where: { status: 'open' }, orderBy: [['createdAt', 'desc']], limit: 50 })
    .subscribe(() => {
      told += 1
    })
  const figures = {
    [`mutate, ${pending} pending`]: await timeMutate(client, () => told),
    [`a confirmed change under ${pending} pending`]: await timeChange(client, rows, 1, () => told),
    [`${pending} confirmed changes under as many`]: await timeChange(client, rows + 100, pending, () => told),
    [`mutate, ${pending} pending on the same record`]: await timeDeep(client),
  }
  await client.close()
  const full = await timeToStart(url, store, rows, queued)
  return { ...figures, 'start-up': start, [`start-up with ${queued} queued`]: full }
}

/** The record `n` of those that are changed: an issue among the open ones. */
const issue = (n: number) => `r${String(n * 15).padStart(7, '0')}`

/** Makes `count` transactions, each on a row of its own, and lets them become durable. */
async function fill(client: Client, rows: number, count: number): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const made = Array.from({ length: Math.min(500, count - from) }, (_, k) => {
      const { t, id } = rowOf(((from + k) * 15) % rows)
      return client.mutate((m) => m.update(t as 'Issue', id, { title: `changed ${from + k}` }))
    })
    await Promise.all(made.map(({ durable }) => durable))
  }
}

/** What a browser's clock tells is too coarse for one, so that many are timed at once. */
const atOnce = 20

/** Until `get` shows it and the subscriber has been told, which is before `mutate` returns. */
async function timeMutate(client: Client, told: () => number): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 25; round += 1) {
    const before = told()
    const made: Transaction[] = []
    const began = performance.now()
    for (let n = 0; n < atOnce; n += 1) {
      const createdAt = 4e12 + round * atOnce + n
      const id = issue(round * atOnce + n)
      made.push(client.mutate((m) => m.update('Issue', id, { createdAt })))
      if (client.get('Issue', id)?.createdAt !== createdAt) throw new Error('It is not shown.')
    }
    times.push((performance.now() - began) / atOnce)
    if (told() - before !== atOnce) throw new Error('It is not told.')
    await Promise.all(made.map(({ durable }) => durable))
  }
  return median(times)
}

/** From the answer on until the subscriber has been told. */
async function timeChange(client: Client, base: number, count: number, told: () => number): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 15; round += 1) {
    const since = client.lastSyncId
    const frames = Array.from({ length: count }, (_, k) => {
      // The first is among the 50 that are seen.
      const { t, id } = rowOf(((k + 499) % pending) * 15)
      return { sid: since + 1 + k, op: 'u', t, id, p: { points: base + round, text: `round ${round}` } }
    })
    next = { since, sid: since + count, frames }
    const before = told()
    let ms = Number.NaN
    const began = performance.now()
    const stop = client.on('change', () => {
      ms = performance.now() - began
    })
    await client.sync()
    stop()
    if (told() === before || Number.isNaN(ms)) throw new Error('Nobody was told.')
    times.push(ms)
  }
  return median(times)
}

async function timeDeep(client: Client): Promise<number> {
  const times: number[] = []
  for (let made = 0; made < pending + 25 * atOnce; made += atOnce) {
    const began = performance.now()
    for (let n = 0; n < atOnce; n += 1) {
      client.mutate((m) => m.update('Issue', issue(60), { points: made + n }))
    }
    if (made >= pending) times.push((performance.now() - began) / atOnce)
    await new Promise((resolve) => setTimeout(resolve))
  }
  return median(times)
}

async function timeToStart(url: string, store: Store, rows: number, count: number): Promise<number> {
  const times: number[] = []
  const identity = `start ${count}`
  const first = open(url, identity, store)
  await first.sync()
  await fill(first, rows, count)
  await first.close()
  for (let round = 0; round < 3; round += 1) {
    const client = open(url, identity, store)
    const began = performance.now()
    await client.start()
    times.push(performance.now() - began)
    if (client.status.writes.pending !== count) throw new Error('Not all are there.')
    await client.close()
  }
  return median(times)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
