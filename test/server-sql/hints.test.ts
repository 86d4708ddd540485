import { expect, test } from 'vitest'
import { createSyncService } from '../../src/server/index.ts'
import type { Log } from '../../src/server/log/log.ts'
import { openSqlLog, type SqlLogOptions } from '../../src/server/log/sql/open.ts'
import { authenticate, FakeSocket, insert, recorder, requestTo } from '../server/harness.ts'
import { ownPostgres } from '../support/own-postgres.ts'
import { asService, eventually } from './judge.ts'

const postgres = ownPostgres()

const killListeners =
  "select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen instep' and datname = current_database()"
const listeners = (name: string) =>
  postgres.run(
    name,
    "select 1 from pg_stat_activity where query = 'listen instep' and datname = current_database()",
  )

/** A service on its own log, whose sockets hear nothing but what is written: there is no heartbeat in time. */
async function serviceOn(address: string, options: SqlLogOptions = {}) {
  const log = await openSqlLog(address, options)
  const service = createSyncService({
    database: log,
    authenticate,
    ownerField: 'userId',
    heartbeatMs: 1_000_000,
  })
  const connect = async () => {
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'ann'))
    await eventually(() => socket.texts.length > 0)
    return socket
  }
  return { log, service, connect }
}

const idsOn = (socket: FakeSocket) => socket.pushes.flatMap(({ frames }) => frames.map(({ id }) => id))

async function burst(log: Log, from: number, count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, (_, index) => String(from + index))
  for (const id of ids) await log.write([insert(id)], asService)
  return ids
}

test('two processes on one database: a write on one reaches the sockets of both', async () => {
  const address = await postgres.database('both')
  const [here, there] = [await serviceOn(address), await serviceOn(address)]
  const sockets = [await here.connect(), await there.connect()]
  await eventually(async () => (await listeners('both')).length === 2)
  await here.service.write([insert('1')])
  await there.service.write([insert('2')])
  await eventually(() => sockets.every((socket) => idsOn(socket).length === 2))
  expect(sockets.map(idsOn)).toEqual([
    ['1', '2'],
    ['1', '2'],
  ])
  await here.service.close()
  await there.service.close()
})

test('invariant 16: after the listening connection is lost in a burst, all converge without another write', async () => {
  const address = await postgres.database('burst')
  const writer = await openSqlLog(address)
  // So it listens again 500 ms later, when the rest is written.
  const random = { number: () => 0.999, bytes: (length: number) => new Uint8Array(length) }
  const { logger, lines } = recorder()
  const { service, connect } = await serviceOn(address, { random, logger })
  const sockets = [await connect(), await connect()]
  await eventually(async () => (await listeners('burst')).length === 1)

  const expected = [...(await burst(writer, 0, 20))]
  await eventually(() => sockets.every((socket) => idsOn(socket).length === 20))
  await postgres.run('burst', killListeners)
  await eventually(() => lines.some((line) => line.includes('notifications')))
  const rest = Array.from({ length: 10 }, (_, index) => String(20 + index))
  await writer.write(
    rest.map((id) => insert(id)),
    asService,
  )
  expected.push(...rest)
  expect(sockets.map((socket) => idsOn(socket).length)).toEqual([20, 20])

  await eventually(() => sockets.every((socket) => idsOn(socket).length === 30), 5_000)
  expect(sockets.map(idsOn)).toEqual([expected, expected])
  await writer.close()
  await service.close()
})

test('notifications arrive again after the database was away', async () => {
  const address = await postgres.database('away')
  const { log, service, connect } = await serviceOn(address)
  const socket = await connect()
  await burst(log, 0, 1)
  await postgres.crash()
  await eventually(async () => {
    try {
      await burst(log, 1, 1)
      return true
    } catch {
      return false
    }
  })
  await eventually(() => idsOn(socket).includes('1'))
  expect(idsOn(socket)).toEqual(['0', '1'])
  await service.close()
})

test('invariant 15: on PostgreSQL, too, a write between a bootstrap and the subscription is delivered', async () => {
  const address = await postgres.database('gap')
  const { service, connect } = await serviceOn(address)
  const writer = await openSqlLog(address)
  let writing = true
  const written: string[] = []
  const write = async () => {
    for (let id = 0; writing; id += 1) {
      await writer.write([insert(String(id))], asService)
      written.push(String(id))
    }
  }
  const done = write()
  const ask = async (path: string) => (await service.fetch(requestTo(path, 'ann'))).json()
  for (let round = 0; round < 5 || written.length <= 10; round += 1) {
    const snapshot = await ask('bootstrap')
    const socket = await connect()
    const ids = new Set<string>(snapshot.rows.map(({ id }: { id: string }) => id))
    let { sid } = snapshot
    do {
      const delta = await ask(`delta?since=${sid}`)
      for (const { id } of delta.frames) ids.add(id)
      sid = delta.sid
    } while (sid < socket.hello.sid)
    const { length } = written
    await eventually(() => {
      for (const id of idsOn(socket)) ids.add(id)
      return written.slice(0, length).every((id) => ids.has(id))
    })
    socket.gone()
  }
  writing = false
  await done
  await writer.close()
  await service.close()
})
