import { expect, test } from 'vitest'
import type { Prepare } from '../../src/server/index.ts'
import type { Log, Rules } from '../../src/server/log/log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { insert, remove, update } from '../server/harness.ts'
import { as, txOf } from '../server/log-contract/support.ts'
import { tx, txServiceOf } from '../server/tx-support.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, idsOf } from './judge.ts'

/** However busy the machine is. */
const patient = { maxWaitMs: 60_000 }

const postgres = ownPostgres()

/** A log of its own with `count` records of almost a mebibyte, of which PostgreSQL stores little. */
async function heavyLog(name: string, count: number): Promise<Log> {
  const log = await openSqlLog(await postgres.database(name), patient)
  await postgres.run(
    name,
    `insert into instep_record (t, id, owner, sid, p)
      select 'Todo', n, 'ann', n, json_build_object('userId', 'ann', 'text', repeat('x', 1048000))
      from generate_series(1, ${count}) as n;
    update instep_state set head = ${count}, horizon = ${count}`,
  )
  return log
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1))

test('many ops on one long record read it once', async () => {
  const log = await heavyLog('once', 1)
  const ops = Array.from({ length: 600 }, (_, n) => update('1', { n }))
  expect(await log.transact(txOf('a', ops), as('ann'))).toEqual({ sid: 601 })
  await log.close()
})

test('many ops with `unchangedSince` read the history once', async () => {
  const log = await openSqlLog(await postgres.database('asked'))
  await log.write([insert('1')], asService)
  await postgres.run(
    'asked',
    `insert into instep_log (sid, owner, t, id, caller, tx, at, last, frame)
      select n, 'ann', 'Todo', '1', 'ann', 'base', 0, true, '{}' from generate_series(2, 100001) as n;
    update instep_state set head = 100001`,
  )
  const ops = Array.from({ length: 1_000 }, (_, n) => ({ ...update('1', { n }), unchangedSince: 1 }))
  const conflict = { error: { code: 'conflict' } }
  expect(await log.transact(txOf('a', ops, { bases: ['base'] }), as('ann'))).toMatchObject(conflict)
  await log.close()
})

test('a transaction may change records of up to 16 MiB, and no more', async () => {
  const log = await heavyLog('most', 20)
  const touch = (count: number) => ids(count).map((id) => update(id, { n: 1 }))
  const tooMany = txOf('a', touch(20))
  const refused = await log.transact(tooMany, as('ann'))
  expect(refused).toMatchObject({ error: { code: 'too_large' } })
  expect(await log.transact(tooMany, as('ann'))).toEqual(refused)
  expect(await log.transact(txOf('b', touch(15)), as('ann'))).toEqual({ sid: 35 })
  await log.close()
})

test('a transaction may compare records of up to 16 MiB with `was`, or is rejected as a whole', async () => {
  const log = await heavyLog('compared', 20)
  const all = ids(20).map((id) => ({ ...remove(id), was: { userId: 'ann' } }))
  const some = all.slice(0, 15)
  expect(await log.transact(txOf('a', all), as('ann'))).toMatchObject({ error: { code: 'too_large' } })
  const touch = ids(20).map((id) => ({ ...update(id, { n: 1 }), was: { n: null } }))
  expect(await log.transact(txOf('b', touch), as('ann'))).toMatchObject({ error: { code: 'too_large' } })
  expect(await log.transact(txOf('c', some), as('ann'))).toEqual({ sid: 35 })
  await log.close()
})

test('records of others do not count, so that nobody learns their length', async () => {
  const log = await heavyLog('others', 20)
  const ops = ids(20).map((id) => update(id, { n: 1 }))
  const verdict = await log.transact(txOf('a', ops, { caller: 'bob', owner: 'bob' }), as('bob'))
  expect(verdict).toMatchObject({ error: { code: 'not_found' } })
  await log.close()
})

test('a transaction may remove any number of records', async () => {
  const log = await heavyLog('removed', 20)
  expect(await log.transact(txOf('a', ids(20).map(remove)), as('ann'))).toEqual({ sid: 40 })
  expect(await idsOf(log)).toEqual([])
  await log.close()
})

test('a transaction may remove any number of records if rules read each of them', async () => {
  const log = await heavyLog('judged', 20)
  const texts: unknown[] = []
  const rules: Rules = async (read) => {
    for (const id of ids(20)) texts.push((await read('Todo', id))?.p.text)
    return { judge: as('ann') }
  }
  const transaction = { ...txOf('a', ids(20).map(remove)), rules }
  expect(await log.transact(transaction, as('ann'))).toEqual({ sid: 40 })
  expect(texts).toEqual(ids(20).map(() => 'x'.repeat(1_048_000)))
  expect(await idsOf(log)).toEqual([])
  await log.close()
})

test('`prepare` gets the whole record before a removal, however many are removed', async () => {
  const log = await heavyLog('prepared', 20)
  const lengths: unknown[] = []
  const prepare: Prepare = (_, { before }) => void lengths.push(JSON.stringify(before?.text).length)
  const { codes, service } = txServiceOf({ database: log, prepare })
  expect(await codes([tx('a', ids(20).map(remove))])).toEqual(['accepted'])
  expect(lengths).toEqual(ids(20).map(() => 1_048_002))
  await service.close()
})

test('removed records do not count towards the limit of changed ones', async () => {
  const log = await heavyLog('room', 40)
  const rules: Rules = async () => ({ judge: as('ann') })
  const ops = ids(40).map((id) => (Number(id) > 15 ? remove(id) : update(id, { n: 1 })))
  expect(await log.transact({ ...txOf('a', ops), rules }, as('ann'))).toEqual({ sid: 80 })
  expect(await idsOf(log)).toHaveLength(15)
  const touched = { ...txOf('b', [...ops.slice(0, 15), insert('16')]), rules }
  expect(await log.transact(touched, as('ann'))).toEqual({ sid: 96 })
  await log.close()
})

test('transactions whose records are too long together use several commits, and none is delayed', async () => {
  const log = await heavyLog('together', 30)
  const tooMany = txOf(
    'a',
    ids(20).map((id) => update(id, { n: 1 })),
  )
  const one = (id: string) => log.transact(txOf(`t${id}`, [update(id, { n: 1 })]), as('ann'))
  const [refused, ...verdicts] = await Promise.all([log.transact(tooMany, as('ann')), ...ids(30).map(one)])
  expect(refused).toMatchObject({ error: { code: 'too_large' } })
  expect(verdicts).toEqual(ids(30).map((id) => ({ sid: 30 + Number(id) })))
  const [row] = await postgres.run(
    'together',
    'select count(distinct xmin::text)::int as commits from instep_record',
  )
  expect(row?.commits).toBe(2)
  await log.close()
})

test('concurrent long writes share a commit of up to 16 MiB', async () => {
  const log = await openSqlLog(await postgres.database('shared'), patient)
  const text = 'x'.repeat(1_000_000)
  await Promise.all(ids(40).map((id) => log.write([insert(id, { text })], asService)))
  const [row] = await postgres.run(
    'shared',
    'select count(distinct xmin::text)::int as commits from instep_record',
  )
  expect(row?.commits).toBe(3)
  await log.close()
})

test('the details of a rejection are not read for transactions that require it', async () => {
  const log = await openSqlLog(await postgres.database('refusals'))
  await postgres.run(
    'refusals',
    `insert into instep_verdict (caller, id, digest, at, error)
      select 'ann', 'r' || n, '', 0, json_build_object('code', 'invalid', 'message', repeat('x', 1048000))
      from generate_series(1, 600) as n`,
  )
  const tx = txOf('a', [update('1', {})], { requires: ids(600).map((id) => `r${id}`) })
  expect(await log.transact(tx, as('ann'))).toMatchObject({ error: { code: 'dependency_rejected' } })
  await log.close()
})
