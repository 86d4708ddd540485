import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert, serviceOf } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

test('if another session holds the lock of the log, the error says that a lock was waited for', async () => {
  const address = await postgres.database('held')
  const log = await openSqlLog(address, { maxWaitMs: 2_500 })
  const { service, ask, lines } = serviceOf({ database: log })
  await service.ready()
  await log.write([insert('1')], asService)
  const holder = new Client({ connectionString: address })
  await holder.connect()
  await holder.query('begin; update instep_state set history = history')
  const health = async () => (await service.fetch(new Request('https://sync.test/healthz'))).status

  await expect(log.write([insert('2')], asService)).rejects.toThrow(/lock timeout/)
  expect(await health()).toBe(503)
  expect(lines).toEqual([expect.stringMatching(/^The database cannot be used.+lock/)])
  expect((await ask('bootstrap')).status).toBe(200)

  await holder.end()
  await eventually(async () => (await health()) === 200)
  await service.close()
})
