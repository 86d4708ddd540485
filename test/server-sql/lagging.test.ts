import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { bearerToken } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { openSqlLog } from '../../src/server/log/sql/open.ts'
import { type FakeSocket, serviceOf } from '../server/harness.ts'
import { NaiveCopy } from '../support/oracle.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { eventually } from './judge.ts'

const postgres = ownPostgres()

const ids = Array.from({ length: 400 }, (_, n) => `${n}`)

/** More changes than a process reads at once, so that it has to push them in several messages. */
const inserts = ids.map((id): TxOp => ({ op: 'i', t: 'Todo', id, p: { owner: 'team:red', n: 0 } }))
const updates = ids.map((id): TxOp => ({ op: 'u', t: 'Todo', id, p: { n: 1 } }))

function serviceOn(log: Log) {
  return serviceOf({
    database: log,
    ownerField: 'owner',
    authenticate: async (request) => {
      const team = bearerToken(request)?.replace('token-of-', '') ?? ''
      return { userId: team, owners: [...team.split('+').map((name) => `team:${name}`)] }
    },
  })
}

/** Two processes on one database. The second one reads no changes before `catchUp` is called. */
async function twoProcesses(name: string) {
  const address = await postgres.database(name)
  const [here, there] = [await openSqlLog(address), await openSqlLog(address)]
  const mayRead = new Deferred<void>()
  const changes = there.changes.bind(there)
  there.changes = async (...args) => {
    await mayRead.promise
    return changes(...args)
  }
  const [first, second] = [serviceOn(here), serviceOn(there)]
  return {
    service: first.service,
    json: first.json,
    connect: second.connect,
    catchUp: () => mayRead.resolve(),
    close: async () => {
      await first.service.close()
      await second.service.close()
    },
  }
}

/** What a client has after the pushes of `socket`. */
function copyOf(socket: FakeSocket): NaiveCopy {
  const copy = new NaiveCopy()
  for (const push of socket.pushes) if (push.sid > copy.sid) copy.delta(push)
  return copy
}

test('a process that is behind does not push changes that a removal has forgotten', async () => {
  const { service, json, connect, catchUp, close } = await twoProcesses('late')
  const [red, blue] = [await connect('red'), await connect('blue')]
  await eventually(() => red.texts.length + blue.texts.length === 2)
  await service.write(inserts)
  await service.write(updates)
  await service.write([{ op: 'i', t: 'Todo', id: 'blue', p: { owner: 'team:blue' } }])
  expect(await service.remove({ owner: 'team:red' })).toEqual({ records: 400 })
  catchUp()
  await eventually(() => blue.pushes.length > 0)
  expect(copyOf(blue).facts).toMatchObject([{ id: 'blue' }])
  expect(blue.closed).toBeUndefined()
  const copy = copyOf(red)
  expect(copy.facts).toEqual([])
  expect(red.closed).toEqual([1012, 'restart'])
  copy.delta(await json(`delta?since=${copy.sid}`, { user: 'red' }))
  expect(copy.facts).toEqual([])
  await close()
})

test('a caller of both teams keeps the records that moved before their team was removed', async () => {
  const { service, json, connect, catchUp, close } = await twoProcesses('moved')
  await service.write(inserts)
  const socket = await connect('red+blue')
  await eventually(() => socket.texts.length === 1)
  const copy = new NaiveCopy()
  copy.bootstrap(await json('bootstrap', { user: 'red+blue' }))
  await service.write(updates)
  await service.write(updates)
  await service.write(ids.map((id): TxOp => ({ op: 'u', t: 'Todo', id, p: { owner: 'team:blue' } })))
  expect(await service.remove({ owner: 'team:red' })).toEqual({ records: 0 })
  catchUp()
  await eventually(() => socket.closed !== undefined)
  for (const push of socket.pushes) {
    copy.delta(push)
    expect(copy.facts).toHaveLength(400)
  }
  copy.delta(await json(`delta?since=${copy.sid}`, { user: 'red+blue' }))
  expect(copy.facts.map(({ p }) => p)).toEqual(ids.map(() => ({ owner: 'team:blue', n: 1 })))
  await close()
})
