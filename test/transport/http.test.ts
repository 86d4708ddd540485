import { getEventListeners } from 'node:events'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { createCredentials } from '../../src/transport/credentials.ts'
import type { Transport } from '../../src/transport/transport.ts'
import { ListSink, outcomeOf, setup } from '../support/transport-calls.ts'
import { json, ManualBody } from '../support/transport-fetch.ts'
import { settle } from '../support/virtual-clock.ts'

const delta = { sid: 9, frames: [] }
const snapshot = { sid: 9, count: 1, rows: [{ t: 'a', id: '1', p: {} }] }
const never = () => new Promise<never>(() => {})

describe('a request', () => {
  test('for a delta names the position and carries the credentials in a header, never in the address', async () => {
    const made = setup(() => json(delta))
    await made.transport.delta(5)
    const last = made.last()
    expect(last.url).toBe('https://api.test/sync/v1/delta?since=5')
    expect(last.init).toMatchObject({ cache: 'no-store', redirect: 'manual' })
    expect(last.init.method ?? 'GET').toBe('GET')
    expect(Object.fromEntries(last.headers)).toEqual({
      accept: 'application/json',
      authorization: 'Bearer s3cret',
    })
  })

  test('for a snapshot is a GET without parameters', async () => {
    const made = setup(() => json(snapshot))
    const sink = new ListSink()
    expect(await made.transport.bootstrap(sink)).toEqual({ sid: 9, count: 1 })
    expect(sink.slices.flatMap((slice) => slice.rows)).toEqual(snapshot.rows)
    expect(made.last().url).toBe('https://api.test/sync/v1/bootstrap')
    expect(made.last().init.method ?? 'GET').toBe('GET')
  })

  test('asks for credentials each time, and is not made without them', async () => {
    const tokens = ['a', 'b', null]
    const made = setup(() => json(delta), {
      credentials: createCredentials({ token: () => tokens.shift() ?? null }),
    })
    await made.transport.delta(1)
    await made.transport.delta(1)
    await expect(made.transport.delta(1)).rejects.toMatchObject({ name: 'UnauthenticatedError' })
    expect(made.calls.map(({ headers }) => headers.get('Authorization'))).toEqual(['Bearer a', 'Bearer b'])
  })

  test('gives a delta of any shape, with a byte order mark before it or without', async () => {
    const made = setup(() => new Response('\uFEFF{"sid":3,"rows":[{"t":"a","id":"1","p":{}},5]}'))
    const { sid, changes, broken } = await made.transport.delta(1)
    expect([sid, changes.kind, broken.length]).toEqual([3, 'rows', 1])
  })
})

describe('an answer that is no 2xx', () => {
  const failing = (status: number, body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const made = setup(() => new Response(text, { status, headers }))
    return { ...made, result: () => made.transport.delta(1).catch((error: unknown) => error) }
  }

  test('of 401 is an UnauthenticatedError that quotes the service, and is news once', async () => {
    const credentials = createCredentials({ token: 's3cret' })
    const made = setup(
      () => json({ error: { code: 'token_expired', message: 'Token expired.' } }, { status: 401 }),
      {
        credentials,
      },
    )
    const results = await Promise.all([made.transport.delta(1), made.transport.delta(1)].map(outcome))
    for (const error of results) {
      expect(error).toMatchObject({
        name: 'UnauthenticatedError',
        message: 'https://api.test/sync/v1/delta answered 401: Token expired.',
      })
    }
    expect(results.map(credentials.rejected)).toEqual([true, false])
  })

  test('whose body drips without end is told in bounded time', async () => {
    const body = new ManualBody()
    const { transport, clock } = setup(() => new Response(body.stream, { status: 401 }))
    const outcome = outcomeOf(transport.delta(1))
    for (let time = 0; time < 4 && !body.cancelled; time += 1) {
      body.sends(' ')
      await clock.advance(20_000)
    }
    expect(outcome.error).toMatchObject({ name: 'UnauthenticatedError' })
  })

  test('of 401 is news again after the credential was taken in between', async () => {
    const credentials = createCredentials({ token: 's3cret' })
    const answers = [401, 200, 401]
    const made = setup(() => json(delta, { status: answers.shift() ?? 500 }), { credentials })
    expect(credentials.rejected(await outcome(made.transport.delta(1)))).toBe(true)
    await made.transport.delta(1)
    expect(credentials.rejected(await outcome(made.transport.delta(1)))).toBe(true)
  })

  test('of another status is an HttpError with what the service said', async () => {
    const { result } = failing(
      429,
      { error: { code: 'slow_down', message: 'Too often.' } },
      { 'Retry-After': '7' },
    )
    expect(await result()).toMatchObject({
      name: 'HttpError',
      status: 429,
      serverCode: 'slow_down',
      retryAfterMs: 7_000,
      message: 'https://api.test/sync/v1/delta answered 429: Too often.',
    })
  })

  test('with a body that is not the protocol’s has a status and no more', async () => {
    for (const body of ['<html>Bad gateway</html>', '', { message: 'x' }, { error: 'x' }]) {
      const error = await failing(502, body).result()
      expect(error).toMatchObject({ status: 502, serverCode: undefined, retryAfterMs: undefined })
      expect((error as Error).message).toBe('https://api.test/sync/v1/delta answered 502.')
    }
  })

  test.each([401, 400])('of %i never repeats a credential, whole or in part', async (status) => {
    const token = `eyJhbGciOiJIUzI1NiJ9.${'a1'.repeat(30)}.sig`
    const message = `Bad token ${token} (${'a1'.repeat(30)})`
    const made = setup(() => json({ error: { code: `bad ${token}`, message } }, { status }), {
      credentials: createCredentials({ token }),
    })
    const error = await outcome(made.transport.delta(1))
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('a1a1a1')
    expect((error as Error).message).toContain('Bad token …')
  })

  test('is read to a limit only, and its body is let go', async () => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream, { status: 500 }))
    const result = outcomeOf(made.transport.delta(1))
    await settle()
    for (let chunk = 0; chunk < 20; chunk += 1) body.sends('x'.repeat(1024))
    await settle()
    expect(result.error).toMatchObject({ status: 500 })
    expect(body.cancelled).toBe(true)
  })

  test('whose body hangs or breaks off still has its status', async () => {
    const hanging = new ManualBody()
    const made = setup(() => new Response(hanging.stream, { status: 410 }))
    const result = outcomeOf(made.transport.delta(1))
    await made.clock.advance(30_000)
    expect(result.error).toMatchObject({ status: 410 })
    const broken = new ManualBody()
    broken.fails(new TypeError('terminated'))
    const other = setup(() => new Response(broken.stream, { status: 503 }))
    await expect(other.transport.delta(1)).rejects.toMatchObject({ status: 503 })
  })

  test.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90_000],
    ['Thursday, 01-Jan-26 00:01:30 GMT', 90_000],
    ['Thu Jan  1 00:01:30 2026', 90_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['', undefined],
  ])('with Retry-After %j asks for %j ms', async (value, ms) => {
    const { result } = failing(503, '', { 'Retry-After': value })
    expect(await result()).toMatchObject({ retryAfterMs: ms })
  })
})

describe('limits', () => {
  test('an answer that does not begin within 30 s', async () => {
    const made = setup(never)
    const result = outcomeOf(made.transport.delta(1))
    await made.clock.advance(29_999)
    expect(result.settled).toBe(false)
    await made.clock.advance(1)
    expect(result.error).toMatchObject({
      name: 'NetworkError',
      code: 'timeout',
      message: 'https://api.test/sync/v1/delta took longer than 30 s.',
    })
    expect(made.last().init.signal?.aborted).toBe(true)
    expect(made.clock.timers).toBe(0)
  })

  test('a snapshot may take 120 s to begin', async () => {
    const made = setup(never)
    const result = outcomeOf(made.transport.bootstrap(new ListSink()))
    await made.clock.advance(119_999)
    expect(result.settled).toBe(false)
    await made.clock.advance(1)
    expect(result.error).toMatchObject({ code: 'timeout' })
  })

  test('a credential function that never ends', async () => {
    const made = setup(() => json(delta), { credentials: createCredentials({ token: never }) })
    const result = outcomeOf(made.transport.delta(1))
    await made.clock.advance(30_000)
    expect(result.error).toMatchObject({
      code: 'timeout',
      message: 'Getting credentials took longer than 30 s.',
    })
    expect(made.calls).toHaveLength(0)
  })

  test('30 s without a byte end an answer; one that goes on slowly does not end', async () => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream))
    const result = outcomeOf(made.transport.delta(1))
    for (const part of ['{"sid"', ':1,"fr', 'ames"', ':']) {
      await made.clock.advance(29_000)
      body.sends(part)
    }
    await settle()
    expect(result.settled).toBe(false)
    await made.clock.advance(30_000)
    expect(result.error).toMatchObject({ name: 'NetworkError', code: 'timeout' })
    expect([body.cancelled, made.clock.timers]).toEqual([true, 0])
  })

  test.each([
    ['delta', 'timeout', (transport: Transport) => transport.delta(1)],
    ['snapshot', undefined, (transport: Transport) => transport.bootstrap(new ListSink())],
  ])('ten minutes of an answer that trickles on, a %s: %s', async (_, code, call) => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream))
    const result = outcomeOf<unknown>(call(made.transport))
    for (let ms = 0; ms < 600_000; ms += 20_000) {
      expect(result.settled).toBe(false)
      body.sends(' ')
      await made.clock.advance(20_000)
    }
    expect(isSyncError(result.error) ? result.error.code : undefined).toBe(code)
  })

  test('any time for a delta that goes on coming, however slowly', async () => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream))
    const result = outcomeOf<unknown>(made.transport.delta(1))
    for (let ms = 0; ms < 3_600_000; ms += 20_000) {
      body.sends(' '.repeat(4_000))
      await made.clock.advance(20_000)
    }
    expect(result.settled).toBe(false)
  })

  test('leave no timer behind a call that went well', async () => {
    const made = setup(() => json(delta))
    await made.transport.delta(1)
    expect(made.clock.timers).toBe(0)
  })
})

describe('a caller that gives up', () => {
  const reason = new Error('Enough.')

  test('before the call: nothing is asked', async () => {
    const made = setup(() => json(delta))
    await expect(made.transport.delta(1, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(made.calls).toHaveLength(0)
  })

  test.each([
    ['while credentials are got', { credentials: createCredentials({ token: never }) }, 0],
    ['while the answer is waited for', {}, 1],
  ])('%s: its reason comes back at once, and fetch is ended', async (_, options, calls) => {
    const made = setup(never, options)
    const controller = new AbortController()
    const result = outcomeOf(made.transport.delta(1, controller.signal))
    await settle()
    controller.abort(reason)
    await settle()
    expect(result.error).toBe(reason)
    expect(made.calls.map(({ init }) => init.signal?.aborted)).toEqual(Array(calls).fill(true))
    expect(made.clock.timers).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
  })

  test.each([200, 500])(
    'while the body of a %i comes: its reason comes back, and the body is let go',
    async (status) => {
      const body = new ManualBody()
      const made = setup(() => new Response(body.stream, { status }))
      const controller = new AbortController()
      const result = outcomeOf(made.transport.bootstrap(new ListSink(), controller.signal))
      await settle()
      body.sends('{"rows":[')
      await settle()
      controller.abort(reason)
      await settle()
      expect(result.error).toBe(reason)
      expect([body.cancelled, made.clock.timers]).toEqual([true, 0])
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    },
  )

  test('leaves no listener on its signal behind a call that went well', async () => {
    const made = setup(() => json(delta))
    const { signal } = new AbortController()
    await made.transport.delta(1, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => {
    if (isSyncError(error)) return error
    throw error
  })
}
