import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import { createTransport } from '../../src/network/http.ts'
import { oddChunks } from '../support/odd-json.ts'
import { endpoints, json, ListSink, ManualBody, outcomeOf, setup } from '../support/transport-calls.ts'
import { settle } from '../support/virtual.ts'

const delta = { sid: 9, frames: [] }
const snapshot = { sid: 9, count: 1, rows: [{ t: 'a', id: '1', p: {} }] }

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

  test('with transactions is not sent without an address', async () => {
    const made = setup(() => json({ sid: 9, results: [] }))
    const reads = createTransport({
      environment: made,
      endpoints: { ...endpoints, txUrl: undefined },
      credentials: createCredentials({}),
    })
    await expect(reads.prepareTx()).rejects.toMatchObject({ option: 'endpoints.txUrl' })
    expect(made.calls).toEqual([])
  })

  test('asks for credentials each time, and is not sent without them', async () => {
    const tokens = ['a', 'b', null]
    const made = setup(() => json(delta), {
      credentials: createCredentials({ token: () => tokens.shift() ?? null }),
    })
    await made.transport.delta(1)
    await made.transport.delta(1)
    await expect(made.transport.delta(1)).rejects.toMatchObject({ name: 'UnauthenticatedError' })
    expect(made.calls.map(({ headers }) => headers.get('Authorization'))).toEqual(['Bearer a', 'Bearer b'])
  })

  test('reads a delta of any shape, with or without a byte order mark', async () => {
    const made = setup(() => new Response('\uFEFF{"sid":3,"rows":[{"t":"a","id":"1","p":{}},5]}'))
    const { sid, kind, broken } = await made.transport.delta(1)
    expect([sid, kind, broken.length]).toEqual([3, 'row', 1])
  })

  test('works in a runtime that cannot stream, too', async () => {
    const unstreamed = (value: unknown) => Object.defineProperty(json(value), 'body', { value: undefined })
    expect((await setup(() => unstreamed(delta)).transport.delta(1)).sid).toBe(9)
    const sink = new ListSink()
    expect((await setup(() => unstreamed(snapshot)).transport.bootstrap(sink)).sid).toBe(9)
    expect(sink.slices.flatMap((slice) => slice.rows)).toEqual(snapshot.rows)
  })

  test('reads a delta that is split within a character', async () => {
    const text = '\uFEFF{"sid":3,"rows":[{"t":"a","id":"é漢😀","p":{}}]}'
    const pieces = oddChunks(text, 1, () => 0)
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        controller.close()
      },
    })
    const made = setup(() => new Response(body))
    const { frames } = await made.transport.delta(1)
    expect(frames).toMatchObject([{ t: 'a', id: 'é漢😀', p: {} }])
  })

  test('refuses a delta that ends within a character', async () => {
    const made = setup(
      () => new Response(Uint8Array.of(...new TextEncoder().encode('{"sid":3,"rows":[]}'), 0xc3)),
    )
    await expect(made.transport.delta(1)).rejects.toMatchObject({
      code: 'not_json',
      message: 'The response is not JSON; a proxy may have answered.',
    })
  })
})

describe('a response other than 2xx', () => {
  const failing = (status: number, body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const made = setup(() => new Response(text, { status, headers }))
    return { ...made, result: () => made.transport.delta(1).catch((error: unknown) => error) }
  }

  test('of 401 is an UnauthenticatedError with the message of the service, reported once', async () => {
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

  test('whose body never ends is reported in bounded time', async () => {
    const body = new ManualBody()
    const { transport, clock } = setup(() => new Response(body.stream, { status: 401 }))
    const outcome = outcomeOf(transport.delta(1))
    for (let time = 0; time < 4 && !body.cancelled; time += 1) {
      body.sends(' ')
      await clock.advance(20_000)
    }
    expect(outcome.error).toMatchObject({ name: 'UnauthenticatedError' })
  })

  test('of 401 is reported again after the credential was accepted in between', async () => {
    const credentials = createCredentials({ token: 's3cret' })
    const answers = [401, 200, 401]
    const made = setup(() => json(delta, { status: answers.shift() ?? 500 }), { credentials })
    expect(credentials.rejected(await outcome(made.transport.delta(1)))).toBe(true)
    await made.transport.delta(1)
    expect(credentials.rejected(await outcome(made.transport.delta(1)))).toBe(true)
  })

  test('of another status is an HttpError with the message of the service', async () => {
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

  test('is the same for a client without a credential', async () => {
    const error = { code: 'token_expired', message: 'Sign in.' }
    const answers = [401, 400]
    const made = setup(() => json({ error }, { status: answers.shift() ?? 500 }), {
      credentials: createCredentials({}),
    })
    expect(await outcome(made.transport.delta(1))).toMatchObject({
      name: 'UnauthenticatedError',
      message: 'https://api.test/sync/v1/delta answered 401: Sign in.',
    })
    expect(await outcome(made.transport.delta(1))).toMatchObject({ serverCode: 'token_expired' })
  })

  test('with a body outside the protocol has only a status', async () => {
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

  test('is quoted by its beginning only', async () => {
    const { result } = failing(400, { error: { code: 'long', message: 'so it goes on, '.repeat(1_000) } })
    const { message } = (await result()) as Error
    expect(message).toContain('so it goes on, so it goes on')
    expect(message.length).toBeLessThan(300)
  })

  test('is read up to a limit, and its body is released', async () => {
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
  ])('with Retry-After %j waits for %j ms, in every time zone', async (value, ms) => {
    vi.stubEnv('TZ', 'America/New_York')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { result } = failing(503, '', { 'Retry-After': value })
    expect(await result()).toMatchObject({ retryAfterMs: ms })
  })
})

function outcome(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => {
    if (isSyncError(error)) return error
    throw error
  })
}
