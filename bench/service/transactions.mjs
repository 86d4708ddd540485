import pg from 'pg'
import { load, median } from './bench.mjs'

const lanes = 16
/** Enough for one to be always waiting for the lock. */
const connections = 4
const secondsEach = 4
const owners = Array.from({ length: 100 }, (_, n) => `owner-${n}`)

/** Transactions a second by the service, and by their statements alone, in turns. */
export async function measureTransactions(options) {
  const { database, rounds, say, serve, tokenOf, postgres, openSqlLog } = options
  const tokens = await Promise.all(owners.map((user) => tokenOf(user)))
  const recorded = await record(options, await postgres.database('recorded'), 1_000)
  const service = await serve(database)
  const [through, alone] = [[], []]
  try {
    for (let round = 0; round < rounds; round += 1) {
      const job = {
        kind: 'transactions',
        url: service.url,
        tokens,
        lanes,
        seconds: secondsEach,
        prefix: `r${round}`,
      }
      through.push((await load(job)).perSecond)
      const empty = await postgres.database(`replay-${round}`)
      await (await openSqlLog(empty)).close()
      alone.push((await load({ kind: 'replay', database: empty, recorded, lanes: connections })).perSecond)
      say(
        `round ${round + 1}: ${through.at(-1).toFixed(0)} a second, without the service ${alone.at(-1).toFixed(0)}`,
      )
    }
  } finally {
    await service.stop()
  }
  const [served, floor] = [median(through), median(alone)]
  const share = `${((100 * served) / floor).toFixed(0)} %`
  return [['transactions a second', `${share} (${served.toFixed(0)} and ${floor.toFixed(0)})`, '≥ 50 %']]
}

/** The statements of so many transactions, as the service sends them from the lock's to the commit. */
async function record({ createSyncService, openSqlLog }, database, count) {
  const recorded = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function recording(statement, ...rest) {
    const { text } = statement
    if (text?.startsWith('start transaction')) this.recorded = []
    this.recorded?.push(statement)
    if (text === 'commit') {
      recorded.push(this.recorded)
      this.recorded = undefined
    }
    return query.call(this, statement, ...rest)
  }
  try {
    const log = await openSqlLog(database)
    recorded.length = 0
    let caller = ''
    const service = createSyncService({
      database: log,
      authenticate: async () => ({ userId: caller }),
      ownerField: 'userId',
    })
    for (let n = 0; n < count; n += 1) {
      caller = owners[n % owners.length]
      const op = {
        op: 'i',
        t: 'Issue',
        id: `i${n}`,
        p: { title: 'Cable cut', status: 'open', text: 'x'.repeat(300) },
      }
      const body = JSON.stringify({ txs: [{ id: `t${n}`, since: 0, ops: [op] }] })
      const answer = await service.fetch(new Request('http://localhost/sync/v1/tx', { method: 'POST', body }))
      if (answer.status !== 200) throw new Error(`A transaction was answered with ${answer.status}.`)
    }
    await service.close()
  } finally {
    pg.Client.prototype.query = query
  }
  return recorded
}
