import { expect, test } from 'vitest'
import { memoryStore, SyncClient, silentLogger } from '../../src/index.ts'
import { openSqlLog } from '../../src/server/index.ts'
import { runChild } from '../support/child.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { schema, tables } from './team.ts'

const postgres = ownPostgres()

interface Counts {
  readonly changes: number
  readonly deadlocks: number
  readonly serialization: number
  readonly timeouts: number
}

const levels = ['read committed', 'repeatable read', 'serializable'] as const
const changesEach = 2_600

/** Runs 8 writers by SQL, and resolves with what they have done together. */
async function writeBySql(address: string): Promise<Counts> {
  const writers = await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      runChild<Counts>('test/server-tables/sql-writer.ts', [
        address,
        `w${n}`,
        levels[n % levels.length] ?? '',
        String(changesEach),
      ]),
    ),
  )
  const all = await Promise.all(writers.map((writer) => writer.next()))
  const sum = (of: (counts: Counts) => number) => all.reduce((total, counts) => total + of(counts), 0)
  return {
    changes: sum(({ changes }) => changes),
    deadlocks: sum(({ deadlocks }) => deadlocks),
    serialization: sum(({ serialization }) => serialization),
    timeouts: sum(({ timeouts }) => timeouts),
  }
}

const shared =
  "insert into issues (id, team_id, title) select 'shared-' || n, 'red', 'Shared' from generate_series(0, 19) n"

test('invariant 78: after 8 processes write by SQL and 4 clients by the service, tables, records and clients are equal', async () => {
  const plain = await postgres.database('plain')
  await postgres.run('plain', [...schema, shared].join(';'))
  const without = await writeBySql(plain)

  const address = await postgres.database('attached')
  await postgres.run('attached', [...schema, shared].join(';'))
  const log = await openSqlLog(address, { tables })
  await log.attach('teamId')
  const servers = await Promise.all(
    [0, 1].map(() => runChild<{ url: string }>('test/server-tables/server.ts', [address])),
  )
  const urls = (await Promise.all(servers.map((server) => server.next()))).map(({ url }) => url)
  const [victim = '', survivor = ''] = urls
  const clients = ['ann', 'ben', 'cid'].map((user) => {
    const options = {
      token: user,
      identity: user,
      store: memoryStore(),
      logger: silentLogger,
      pollInterval: 1_000,
    }
    return new SyncClient({ baseUrl: survivor, ...options })
  })
  for (const client of clients) await client.start()

  let isWriting = true
  const verdicts = { accepted: 0, rejected: 0 }
  const writeByService = async (writer: number) => {
    for (let n = 0; isWriting; n += 1) {
      const id = `post-${writer}-${n % 50}`
      const ops = [
        n % 100 < 50
          ? { op: 'i', t: 'Issue', id, put: true, p: { teamId: 'red', title: `Post ${n}` } }
          : { op: 'd', t: 'Issue', id },
        { op: 'u', t: 'Issue', id: `shared-${n % 20}`, p: { size: n } },
      ]
      const body = JSON.stringify({ txs: [{ id: `${writer}-${n}`, since: 0, ops }] })
      for (let tries = 0; tries < 20; tries += 1) {
        // Whoever gets no answer sends the same again, to the other service.
        const url = (writer + tries) % 2 === 0 ? victim : survivor
        const headers = { Authorization: 'Bearer ann', 'Content-Type': 'application/json' }
        const response = await fetch(`${url}/tx`, { method: 'POST', body, headers }).catch(() => undefined)
        if (response?.status !== 200) continue
        const [result] = (await response.json()).results
        if (result.error) verdicts.rejected += 1
        else verdicts.accepted += 1
        break
      }
    }
  }
  const posting = Promise.all([0, 1, 2, 3].map(writeByService))
  const killing = new Promise<void>((resolve) => {
    setTimeout(() => void servers[0]?.kill().then(resolve), 4_000)
  })
  const attached = await writeBySql(address)
  isWriting = false
  await Promise.all([posting, killing])

  const waits = async () => (await postgres.run('attached', 'select from instep_change')).length
  await expect.poll(waits).toBe(0)
  expect(await log.checkTables('teamId')).toMatchObject([{ differing: 0 }, { differing: 0 }])
  const rowsOf = (owners: readonly string[]) =>
    postgres.run(
      'attached',
      `select id, team_id as "teamId", title, size from issues where team_id in (${owners.map((owner) => `'${owner}'`).join()}) order by id collate "C"`,
    )
  const shownBy = (client: SyncClient) =>
    client
      .all('Issue')
      .map(({ id, teamId, title, size }) => ({ id, teamId, title, size }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const [n, owners] of [['red', 'blue'], ['blue'], ['green']].entries()) {
    const client = clients[n]
    if (client) await expect.poll(() => shownBy(client)).toEqual(await rowsOf(owners))
  }
  for (const client of clients) await client.close()
  await servers[1]?.kill()
  await log.close()
  expect(attached.changes).toBeGreaterThanOrEqual(20_000)
  expect(verdicts.accepted).toBeGreaterThan(30)
  expect(attached.deadlocks).toBe(without.deadlocks)
  expect(attached.serialization).toBeLessThanOrEqual(without.serialization * 1.5 + 50)
}, 240_000)
