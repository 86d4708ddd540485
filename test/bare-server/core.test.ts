import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BareServer, type BareServerOptions } from '../support/bare-server.ts'
import { bytesOf, faults } from '../support/bare-server-faults.ts'

function serverOf(options?: BareServerOptions) {
  let now = 1_000
  const server = new BareServer({ now: () => now, ...options })
  const token = server.tokens.issue('ann')
  const ask = (target: string, authorization: string | undefined = `Bearer ${token}`) => {
    const { pathname, searchParams } = new URL(`http://h/sync/v1/${target}`)
    const headers = authorization === undefined ? {} : { authorization }
    return server.handle({ method: 'GET', path: pathname, query: searchParams, headers })
  }
  const json = (target: string) => JSON.parse(textOf(ask(target)))
  const later = (ms: number) => {
    now += ms
  }
  return { server, token, ask, json, later }
}

const textOf = (answer: Parameters<typeof bytesOf>[0]) => new TextDecoder().decode(bytesOf(answer))
const todo = (id: string, p: object = {}) => ({ op: 'i', t: 'Todo', id, p: { ...p } }) as const

test('a snapshot holds the rows of its caller and the highest sid', () => {
  const { server, json } = serverOf()
  server.write('ann', [todo('1', { title: 'é' }), todo('2')])
  server.write('bob', [todo('3')])
  server.write('ann', [{ op: 'd', t: 'Todo', id: '2' }])
  expect(json('bootstrap')).toEqual({
    sid: 4,
    rows: [{ t: 'Todo', id: '1', v: 1, p: { userId: 'ann', title: 'é' } }],
  })
})

test('however a snapshot is written and cut into chunks, it says the same', () => {
  const options = { seed: fc.integer(), chunkBytes: fc.nat(9), snapshotSid: fc.constantFrom('first', 'last') }
  fc.assert(
    fc.property(fc.record(options), fc.dictionary(fc.string(), fc.json()), (chosen, p) => {
      const { server, json } = serverOf({ ...chosen, snapshotSid: chosen.snapshotSid as 'first' | 'last' })
      const { userId, ...fields } = { ...p, userId: 'ann' }
      server.write('ann', [todo('1', fields)])
      expect(json('bootstrap').rows).toEqual([{ t: 'Todo', id: '1', v: 1, p: { ...fields, userId } }])
    }),
  )
})

test('the same seed gives the same bytes', () => {
  const textFor = (seed: number) => {
    const { server, ask } = serverOf({ seed, chunkBytes: 5 })
    server.write('ann', [todo('1', { a: 1, b: 2, c: 3 }), todo('2')])
    return ask('bootstrap').body
  }
  expect(textFor(7)).toEqual(textFor(7))
  expect(textFor(7)).not.toEqual(textFor(8))
})

describe('a delta', () => {
  const written = (options: BareServerOptions) => {
    const made = serverOf(options)
    made.server.write('ann', [todo('1'), todo('2')])
    made.server.write('bob', [todo('3')])
    made.server.write('ann', [{ op: 'u', t: 'Todo', id: '1', p: { n: 1 } }])
    return made
  }
  const row = { t: 'Todo', id: '1', v: 2, p: { userId: 'ann', n: 1 } }

  test('has the frames of its caller behind since', () => {
    const update = { sid: 4, t: 'Todo', id: '1', op: 'u', p: { n: 1 }, at: 1_000 }
    expect(written({}).json('delta?since=2')).toEqual({ sid: 4, frames: [update] })
  })

  test('has whole rows, one row, or both, as it is told', () => {
    expect(written({ delta: 'rows' }).json('delta?since=2')).toEqual({ sid: 4, rows: [row] })
    expect(written({ delta: 'row' }).json('delta?since=2')).toEqual({ sid: 4, ...row })
    expect(written({ delta: 'both' }).json('delta?since=2')).toMatchObject({
      rows: [row],
      frames: [{ sid: 4 }],
    })
  })

  test('that is empty has the sid it was asked with, or the head where the server says that', () => {
    expect(written({}).json('delta?since=9')).toEqual({ sid: 9, frames: [] })
    expect(written({ deltaSid: 'head' }).json('delta?since=9')).toEqual({ sid: 4, frames: [] })
  })

  test('may have one sid for all frames of a write', () => {
    const { server, json } = serverOf()
    server.write('ann', [todo('1'), todo('2')], { sharedSid: true })
    expect(json('delta?since=0').frames.map((frame: { sid: number }) => frame.sid)).toEqual([1, 1])
  })
})

test('a record that changes hands is removed for one and whole for the other', () => {
  const { server } = serverOf()
  server.write('ann', [todo('1', { n: 1 })])
  server.write('ann', [{ op: 'u', t: 'Todo', id: '1', p: { userId: 'bob' } }])
  expect(server.data.framesSince('ann', 1)).toMatchObject([{ sid: 2, op: 'd', id: '1' }])
  expect(server.data.framesSince('bob', 0)).toMatchObject([{ sid: 3, op: 'i', p: { n: 1, userId: 'bob' } }])
  expect(server.data.rows('ann')).toEqual([])
})

test('a backup brings rows, log and sid back', () => {
  const { server, json } = serverOf()
  server.write('ann', [todo('1')])
  const backup = server.data.backup()
  server.write('ann', [todo('2')])
  server.data.restore(backup)
  expect(json('bootstrap')).toMatchObject({ sid: 1, rows: [{ id: '1' }] })
  expect(server.write('ann', [todo('9')])).toBe(2)
})

test('a call without valid credentials is answered with 401 and its reason', () => {
  const { server, token, ask, later } = serverOf()
  expect(textOf(ask('bootstrap', ''))).toBe('No token provided')
  expect(textOf(ask(`delta?since=0&token=${token}`, ''))).toBe('No token provided')
  expect(textOf(ask('bootstrap', 'Bearer other'))).toBe('Invalid token')
  const brief = server.tokens.issue('ann', 1_500)
  expect(ask('bootstrap', `Bearer ${brief}`).status).toBe(200)
  later(500)
  expect(textOf(ask('bootstrap', `Bearer ${brief}`))).toBe('Token expired')
  server.tokens.revoke(token)
  expect(ask('bootstrap').status).toBe(401)
})

test('a socket takes its token from the query where no header has one', () => {
  const { server, token } = serverOf()
  const upgrade = (query: string, headers = {}) =>
    server.upgrade({ method: 'GET', path: '/sync/v1/ws', query: new URLSearchParams(query), headers })
  expect(upgrade(`token=${token}`)).toBeTypeOf('function')
  expect(upgrade('', { authorization: `Bearer ${token}` })).toBeTypeOf('function')
  expect(upgrade(`token=${token}`, { authorization: 'Bearer other' })).toMatchObject({ status: 401 })
  expect(upgrade('')).toMatchObject({ status: 401 })
})

describe('a push', () => {
  const connected = (options: BareServerOptions) => {
    const { server, token } = serverOf(options)
    const got: unknown[] = []
    const query = new URLSearchParams({ token })
    const accept = server.upgrade({ method: 'GET', path: '/sync/v1/ws', query, headers: {} })
    if (typeof accept !== 'function') throw new Error('Refused.')
    accept({ send: (text) => got.push(JSON.parse(text)), close: () => {}, drop: () => {} })
    return { server, got }
  }

  test.each([
    ['none', []],
    ['frame', [{ sid: 1 }, { sid: 2 }]],
    ['frames', [[{ sid: 1 }, { sid: 2 }]]],
    ['delta', [{ sid: 2, frames: [{ sid: 1 }, { sid: 2 }] }]],
    ['sid', [{ sid: 2 }]],
    ['hint', [{ changed: true }]],
  ] as const)('of the shape %s', (push, expected) => {
    const { server, got } = connected({ push })
    server.write('ann', [todo('1'), todo('2')])
    server.write('bob', [todo('3')])
    expect(got).toMatchObject(expected)
    expect(JSON.stringify(got)).not.toContain('since')
  })

  test('can be held, and sent out of order, twice, or never', () => {
    const { server, got } = connected({ hold: true })
    for (const id of ['1', '2', '3']) server.write('ann', [todo(id)])
    const [first, , third] = server.held
    expect(got).toEqual([])
    third?.send()
    first?.send()
    first?.send()
    expect(got).toMatchObject([{ sid: 3 }, { sid: 1 }, { sid: 1 }])
  })

  test('goes nowhere while sockets are silent', () => {
    const { server, got } = connected({})
    server.sockets.silent = true
    server.write('ann', [todo('1')])
    expect(got).toEqual([])
    expect(server.sockets.count('ann')).toBe(1)
  })
})

test('a fault stands in for as many answers as it is told, on its path alone', () => {
  const { server, ask } = serverOf()
  server.failNext(faults.tooMany('7'), { times: 2, path: '/delta' })
  expect(ask('bootstrap').status).toBe(200)
  expect(ask('delta?since=0')).toMatchObject({ status: 429, headers: { 'retry-after': '7' } })
  expect(ask('delta?since=0').status).toBe(429)
  expect(ask('delta?since=0').status).toBe(200)
})

test('every request is kept, with its time', () => {
  const { server, ask, later } = serverOf()
  ask('bootstrap')
  later(5)
  ask('delta?since=3', 'Bearer other')
  expect(server.requests.map(({ path, at }) => [path, at])).toEqual([
    ['/sync/v1/bootstrap', 1_000],
    ['/sync/v1/delta', 1_005],
  ])
  expect(server.requests[1]?.query.get('since')).toBe('3')
})
