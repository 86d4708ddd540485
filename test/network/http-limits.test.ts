import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { createCredentials } from '../../src/network/credentials.ts'
import type { Transport } from '../../src/network/transport.ts'
import { json, ListSink, ManualBody, outcomeOf, setup } from '../support/transport-calls.ts'
import { settle } from '../support/virtual.ts'

const delta = { sid: 9, frames: [] }
const never = () => new Promise<never>(() => {})

describe('limits', () => {
  test('a response that does not begin within 30 s', async () => {
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

  test('a response to a large request gets more time, for slow uplinks', async () => {
    const made = setup(never)
    const result = outcomeOf(made.transport.prepareTx().then((post) => post('x'.repeat(256_000))))
    await made.clock.advance(89_999)
    expect(result.settled).toBe(false)
    await made.clock.advance(1)
    expect(result.error).toMatchObject({ code: 'timeout', message: expect.stringContaining('90 s') })
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

  test('30 s without a byte end a response, and a slow one continues', async () => {
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
  ])('ten minutes of a slow response, a %s: %s', async (_, code, call) => {
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

  test('a delta may take any time while bytes keep coming', async () => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream))
    const result = outcomeOf<unknown>(made.transport.delta(1))
    for (let ms = 0; ms < 3_600_000; ms += 20_000) {
      body.sends(' '.repeat(4_000))
      await made.clock.advance(20_000)
    }
    expect(result.settled).toBe(false)
  })

  test('leave no timer after a successful request', async () => {
    const made = setup(() => json(delta))
    await made.transport.delta(1)
    expect(made.clock.timers).toBe(0)
  })
})

describe('a caller that aborts', () => {
  const reason = new Error('Enough.')

  test('before the request sends nothing, and asks for no credentials', async () => {
    const token = vi.fn(() => 's3cret')
    const made = setup(() => json(delta), { credentials: createCredentials({ token }) })
    await expect(made.transport.delta(1, AbortSignal.abort(reason))).rejects.toBe(reason)
    await settle()
    expect([made.calls, token.mock.calls]).toEqual([[], []])
  })

  test.each([
    ['while waiting for credentials', { credentials: createCredentials({ token: never }) }, 0],
    ['while waiting for the response', {}, 1],
  ])('%s gets its reason at once, and ends the fetch', async (_, options, calls) => {
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

  test.each([200, 500])('during the body of a %i gets its reason, and releases the body', async (status) => {
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
  })

  test.each([1, 2])('during the first of %i slices gets its reason, and no other slice', async (slices) => {
    const body = new ManualBody()
    const made = setup(() => new Response(body.stream))
    const controller = new AbortController()
    const sink = new ListSink()
    const slice = vi.spyOn(sink, 'slice').mockImplementation(async () => {
      await settle()
      controller.abort(reason)
    })
    const result = outcomeOf(made.transport.bootstrap(sink, controller.signal))
    await settle()
    body.sends(`{"rows":[${'{"t":"a","id":"1","p":{}},'.repeat(1_000 * slices)}`)
    await settle()
    await settle()
    expect(result.error).toBe(reason)
    expect([slice.mock.calls.length, body.cancelled, made.clock.timers]).toEqual([1, true, 0])
  })

  test('leaves no listener on its signal after a successful request', async () => {
    const made = setup(() => json(delta))
    const { signal } = new AbortController()
    await made.transport.delta(1, signal)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
