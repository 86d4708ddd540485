import { afterEach, describe, expect, test, vi } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { readPush } from '../../src/protocol/push.ts'
import { type Caller, createSyncService, type WriteResult } from '../../src/server/index.ts'
import { settle } from '../support/virtual.ts'
import { FakeSocket, insert, remove, requestTo, serviceOf, update } from './harness.ts'
import { asService } from './log-contract/support.ts'

test('`hello` is the first message, with the position, the epoch, the features and the heartbeat', async () => {
  const { service, json, connect } = serviceOf({ heartbeatMs: 9_000 })
  await service.write([insert('1')])
  const socket = await connect()
  const { epoch, caller } = await json('bootstrap')
  expect(socket.messages).toEqual([
    { hello: { sid: 1, epoch, caller, features: ['was', 'restores', 'tx'], heartbeatMs: 9_000 } },
  ])
  expect(readPush(socket.texts[0])).toMatchObject({ kind: 'hello', hello: { sid: 1, epoch, caller } })
})

test('a write is pushed at once to every socket of its owner, in one message, and to nobody else', async () => {
  const { service, connect } = serviceOf()
  const [first, second, other] = [await connect(), await connect(), await connect('bob')]
  await service.write([insert('1'), insert('2', {}, 'bob'), remove('1')])
  await settle()
  const frames = [
    { sid: 1, op: 'i', id: '1' },
    { sid: 3, op: 'd', id: '1' },
  ]
  expect(first.pushes).toMatchObject([{ since: 0, sid: 3, frames }])
  expect(second.texts.slice(1)).toEqual(first.texts.slice(1))
  expect(other.pushes).toMatchObject([{ since: 0, sid: 3, frames: [{ sid: 2 }] }])
  expect(readPush(first.texts[1])).toMatchObject({ kind: 'delta', delta: { since: 0, sid: 3 } })
})

test('each push names the position from which it is complete, whatever others have written in between', async () => {
  const { service, connect } = serviceOf()
  const socket = await connect()
  await service.write([insert('1')])
  await settle()
  await service.write([insert('2', {}, 'bob')])
  await settle()
  await service.write([update('1', { n: 1 })])
  await settle()
  expect(socket.pushes.map(({ since, sid }) => [since, sid])).toEqual([
    [0, 1],
    [1, 3],
  ])
})

test('each socket gets a push with the position from which it is complete for that socket', async () => {
  const { service, connect } = serviceOf()
  const early = await connect()
  await service.write([insert('1', {}, 'bob')])
  await settle()
  const late = await connect()
  await service.write([insert('2')])
  await settle()
  expect([early, late].map(({ pushes }) => pushes[0]?.since)).toEqual([0, 1])
})

test('a heartbeat is sent if nothing else was sent for `heartbeatMs`', async () => {
  const { service, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
  const socket = await connect()
  await clock.advance(999)
  expect(socket.pushes).toEqual([])
  await service.write([insert('1')])
  await clock.advance(999)
  expect(socket.pushes).toHaveLength(1)
  await clock.advance(1_001)
  expect(socket.pushes.slice(1)).toEqual([
    { since: 1, sid: 1, frames: [] },
    { since: 1, sid: 1, frames: [] },
  ])
})

test('a lost hint delays a push to the next heartbeat, and loses nothing', async () => {
  const { service, log, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
  log.onHint = () => () => {}
  const socket = await connect()
  for (const sid of [1, 2, 3]) {
    await service.write([insert(String(sid))])
    await clock.advance(1_000)
    expect(socket.pushes.at(-1)).toMatchObject({ sid, frames: [{ sid }] })
  }
})

test('changes of this log are pushed without a read, unless others wrote in between', async () => {
  const { service, log, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
  let tell: ((written: WriteResult) => void) | undefined
  log.onHint = (listener) => {
    tell = listener
    return () => {}
  }
  const changes = log.changes.bind(log)
  let reads = 0
  log.changes = (...args) => {
    reads += 1
    return changes(...args)
  }
  const socket = await connect()
  await service.write([insert('1')])
  tell?.({ ...(await changes(0, 1)), after: 0 })
  expect([reads, socket.pushes]).toMatchObject([0, [{ since: 0, sid: 1, frames: [{ id: '1' }] }]])
  await service.write([insert('2')])
  await service.write([insert('3')])
  tell?.({ ...(await changes(2, 1)), after: 2 })
  await clock.advance(10)
  expect(reads).toBe(1)
  expect(socket.pushes.at(-1)).toMatchObject({ since: 1, sid: 3, frames: [{ id: '2' }, { id: '3' }] })
})

test('a service that is closed during a read reads no more, and logs no error', async () => {
  const { service, log, clock, lines, connect } = serviceOf({ heartbeatMs: 1_000 })
  log.onHint = () => () => {}
  await connect()
  await service.write([insert('1')])
  const [changes, answer] = [log.changes.bind(log), new Deferred<void>()]
  const reads: number[] = []
  log.changes = async (since, limit) => {
    reads.push(since)
    if (reads.length > 1) throw new Error('The database is closed.')
    const batch = await changes(since, limit)
    await answer.promise
    return { ...batch, head: batch.sid + 1 }
  }
  await clock.advance(1_000)
  await service.close()
  answer.resolve()
  await settle()
  expect([reads, lines]).toEqual([[0], []])
})

test('a write that is reported during a read, or twice, is pushed once, and closes no socket', async () => {
  const { log, connect } = serviceOf()
  let tell: ((written?: WriteResult) => void) | undefined
  log.onHint = (listener) => {
    tell = listener
    return () => {}
  }
  const socket = await connect()
  const changes = log.changes.bind(log)
  const [before, read] = [await changes(0, 1), new Deferred<void>()]
  log.changes = async () => {
    await read.promise
    log.changes = changes
    return before
  }
  tell?.()
  await log.write([insert('1')], asService)
  const written = { ...(await changes(0, 1)), after: 0 }
  tell?.(written)
  read.resolve()
  await settle()
  tell?.(written)
  await settle()
  expect(socket.closed).toBeUndefined()
  expect(socket.pushes).toMatchObject([{ since: 0, sid: 1, frames: [{ id: '1' }] }])
})

test('a write while the first position is being read is pushed without waiting for a heartbeat', async () => {
  const { service, log, connect } = serviceOf()
  const [position, changes] = [log.position.bind(log), log.changes.bind(log)]
  const [asked, answered, joined] = [new Deferred<void>(), new Deferred<void>(), new Deferred<void>()]
  log.position = async () => {
    const here = await position()
    asked.resolve()
    await answered.promise
    return here
  }
  log.changes = async (after, limit) => {
    await joined.promise
    return changes(after, limit)
  }
  const socket = await connect()
  await asked.promise
  await service.write([insert('1')])
  answered.resolve()
  await settle()
  expect(socket.hello).toMatchObject({ sid: 0 })
  joined.resolve()
  await settle()
  expect(socket.pushes).toMatchObject([{ since: 0, sid: 1, frames: [{ id: '1' }] }])
})

test('a log that cannot be read for a while loses no push', async () => {
  const { service, log, clock, lines, connect } = serviceOf({ heartbeatMs: 1_000 })
  const socket = await connect()
  const changes = log.changes.bind(log)
  log.changes = () => Promise.reject(new Error('away'))
  await service.write([insert('1')])
  await clock.advance(10)
  expect(lines.join()).toContain('away')
  log.changes = changes
  await service.write([insert('2')])
  await clock.advance(10)
  expect(socket.pushes).toMatchObject([{ since: 0, sid: 2, frames: [{ sid: 1 }, { sid: 2 }] }])
})

test('a socket that opens while the log is unreachable is closed, and the next one works', async () => {
  const { log, connect } = serviceOf()
  const position = log.position.bind(log)
  log.position = () => Promise.reject(new Error('away'))
  expect((await connect()).closed).toEqual([1012, 'unavailable'])
  log.position = position
  expect((await connect()).hello).toMatchObject({ sid: 0 })
})

test('the service listens to a log only once it is reachable, and stops in the end', async () => {
  const { service, log, connect } = serviceOf()
  const [position, onHint] = [log.position.bind(log), log.onHint.bind(log)]
  let listeners = 0
  log.onHint = (listener) => {
    const unlisten = onHint(listener)
    listeners += 1
    return () => {
      listeners -= 1
      unlisten()
    }
  }
  log.position = () => Promise.reject(new Error('away'))
  await connect()
  await connect()
  expect(listeners).toBe(0)
  log.position = position
  await connect()
  await connect()
  expect(listeners).toBe(1)
  await service.close()
  expect(listeners).toBe(0)
})

test('more changes than one read returns are all pushed, and no write is split', async () => {
  const { service, log, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
  log.onHint = () => () => {}
  const socket = await connect()
  const ids = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => insert(String(from + n)))
  for (const [from, count] of [
    [0, 400],
    [400, 400],
    [800, 1],
  ] as const)
    await service.write(ids(from, count))
  await clock.advance(1_000)
  const pushes = socket.pushes.filter(({ frames }) => frames.length > 0)
  expect(pushes.map(({ since, sid, frames }) => [since, sid, frames.length])).toEqual([
    [0, 800, 800],
    [800, 801, 1],
  ])
})

test('a socket that closes while its credentials are checked is not kept', async () => {
  const checked = new Deferred<Caller>()
  const { service, clock } = serviceOf({ authenticate: () => checked.promise })
  const socket = new FakeSocket()
  const connected = service.connect(socket, requestTo('ws', 'ann'))
  await settle()
  socket.gone()
  checked.resolve({ userId: 'ann' })
  await connected
  await settle()
  expect([socket.texts, clock.timers]).toEqual([[], 0])
})

describe('a socket is closed', () => {
  /** A socket that is there before the log is reached. */
  const unreached = async () => {
    const { service, log, clock } = serviceOf()
    const reached = new Deferred<void>()
    const position = log.position.bind(log)
    log.position = async () => {
      await reached.promise
      return position()
    }
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'ann'))
    return { service, clock, socket, reached }
  }

  test('with 1012 if the service cannot start', async () => {
    const ready = () => Promise.reject(new Error('Not yet.'))
    const { service } = serviceOf({ rateLimit: { take: async () => undefined, ready } })
    const socket = new FakeSocket()
    await expect(service.connect(socket, requestTo('ws', 'ann'))).rejects.toThrow('Not yet.')
    expect(socket.closed).toEqual([1012, 'unavailable'])
  })

  test('with 1012 when the service stops, and no timer is left', async () => {
    const { service, clock, connect } = serviceOf()
    const socket = await connect()
    await service.close()
    expect(socket.closed).toEqual([1012, 'restart'])
    expect(clock.timers).toBe(0)
  })

  test('with 1012 when the service stops before the log is reachable, and no timer is left', async () => {
    const { service, clock, socket, reached } = await unreached()
    await service.close()
    reached.resolve()
    await settle()
    expect(socket.closed).toEqual([1012, 'restart'])
    expect(clock.timers).toBe(0)
  })

  test('with 1012 when the log has forgotten changes that were not pushed yet', async () => {
    const { service, log, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
    log.onHint = () => () => {}
    const socket = await connect()
    await service.write([insert('1'), insert('2')])
    await log.trim(2)
    await clock.advance(1_000)
    expect(socket.closed).toEqual([1012, 'restart'])
    expect((await connect()).hello).toMatchObject({ sid: 2 })
  })

  test('with 1012 when the history has changed', async () => {
    const { service, log, connect } = serviceOf()
    const socket = await connect()
    const changes = log.changes.bind(log)
    log.changes = async (...args) => ({ ...(await changes(...args)), history: 'restored' })
    await service.write([insert('1')])
    await settle()
    expect(socket.closed).toEqual([1012, 'restart'])
    expect((await connect()).hello.epoch).not.toBe(socket.hello.epoch)
  })

  test('with 1012 when the head of the log is below the last push', async () => {
    const { service, log, clock, connect } = serviceOf({ heartbeatMs: 1_000 })
    const socket = await connect()
    await service.write([insert('1'), insert('2')])
    await settle()
    const changes = log.changes.bind(log)
    log.changes = async (...args) => ({ ...(await changes(...args)), head: 1, sid: 1, changes: [] })
    await clock.advance(1_000)
    expect(socket.closed).toEqual([1012, 'restart'])
    expect((await connect()).hello).toMatchObject({ sid: 1 })
  })

  test('invariant 48: with 4401 when the caller is revoked', async () => {
    const { service, connect } = serviceOf()
    const [mine, other] = [await connect(), await connect('bob')]
    service.revoke((caller: Caller) => caller.userId === 'ann')
    expect(mine.closed).toEqual([4401, 'revoked'])
    expect(other.closed).toBeUndefined()
  })

  test('and forgotten when it closes before the log is reachable', async () => {
    const { clock, socket, reached } = await unreached()
    socket.gone()
    reached.resolve()
    await settle()
    expect(socket.texts).toEqual([])
    // What is left is the reading of the log.
    expect(clock.timers).toBe(1)
  })

  test('and forgotten when the client closes it, or when sending fails', async () => {
    const { service, clock, connect } = serviceOf()
    const [gone, broken] = [await connect(), await connect()]
    const healthy = await connect()
    gone.gone()
    broken.send = () => {
      throw new Error('InvalidStateError')
    }
    await service.write([insert('1')])
    await settle()
    expect(gone.pushes).toEqual([])
    expect(broken.closed).toBeDefined()
    expect(healthy.pushes).toHaveLength(1)
    healthy.gone()
    // What is left is the reading of the log.
    expect(clock.timers).toBe(1)
  })
})

describe('a slow consumer', () => {
  test('invariant 55: has a limited buffer: it is closed, and a delta brings the rest', async () => {
    const maxBufferedBytes = 10_000
    const { service, json, connect } = serviceOf({ maxBufferedBytes })
    const [slow, healthy] = [await connect(), await connect()]
    slow.stuck = true
    for (let n = 0; n < 100; n += 1) {
      await service.write([insert(String(n), { text: 'x'.repeat(1_000) })])
      await settle()
    }
    expect(slow.closed).toEqual([1013, 'too_slow'])
    expect(slow.bufferedAmount).toBeLessThan(maxBufferedBytes + 1_200)
    expect(healthy.pushes).toHaveLength(100)
    const since = slow.pushes.at(-1)?.sid ?? 0
    const { frames } = await json(`delta?since=${since}`)
    expect([...slow.pushes.flatMap((push) => push.frames), ...frames].map((frame) => frame.sid)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    )
  })

  test('invariant 55: is also closed if only heartbeats are unsent', async () => {
    const { clock, connect } = serviceOf({ heartbeatMs: 1_000, maxBufferedBytes: 200 })
    const slow = await connect()
    slow.stuck = true
    await clock.advance(60_000)
    expect(slow.closed).toEqual([1013, 'too_slow'])
    expect(slow.bufferedAmount).toBeLessThan(300)
    // That which has the log read.
    expect(clock.timers).toBe(1)
  })
})

describe('the expiry of the credentials', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test('invariant 48: closes the socket with 4401 at that time, and not before', async () => {
    const { clock, service, connect } = serviceOf({
      authenticate: async () => ({ userId: 'ann', expiresAt: clock.now() + 60_000 }),
    })
    const socket = await connect()
    await clock.advance(59_999)
    expect(socket.closed).toBeUndefined()
    await clock.advance(1)
    expect(socket.closed).toEqual([4401, 'token_expired'])
    await service.write([insert('1')])
    await settle()
    expect(socket.pushes.flatMap((push) => push.frames)).toEqual([])
  })

  test('invariant 63: a token that lives 30 days keeps its socket for 30 days', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const day = 86_400_000
    const service = createSyncService({
      database: 'memory:',
      authenticate: async () => ({ userId: 'ann', expiresAt: Date.now() + 30 * day }),
      ownerField: 'userId',
      heartbeatMs: day,
    })
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'ann'))
    await settle()
    vi.advanceTimersByTime(30 * day - 1)
    expect(socket.closed).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(socket.closed).toEqual([4401, 'token_expired'])
    await service.close()
  })
})

describe('the sockets of one user', () => {
  test('are refused beyond `maxSockets`, also if they are requested at once, and those of others are not', async () => {
    const { service, connect } = serviceOf({ maxSockets: 2 })
    const sockets = await Promise.all([connect(), connect(), connect()])
    expect(sockets.filter(({ closed }) => closed === undefined)).toHaveLength(2)
    const refused = await service.upgrade(requestTo('ws', 'ann'))
    expect(refused).toMatchObject({ status: 429 })
    expect((await connect('bob')).closed).toBeUndefined()
  })

  test('can be opened again once others have closed', async () => {
    const { connect } = serviceOf({ maxSockets: 1 })
    const first = await connect()
    expect((await connect()).closed).toEqual([1013, 'too_many_requests'])
    first.gone()
    expect((await connect()).closed).toBeUndefined()
  })
})
