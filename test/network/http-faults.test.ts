import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { failureOf } from '../../src/network/failure.ts'
import { ListSink, ManualBody, setup } from '../support/transport-calls.ts'

const page = '<!doctype html><title>Sign in to Wi-Fi</title>'
const broken = (error: unknown, text = '') => {
  const body = new ManualBody()
  if (text) body.sends(text)
  setImmediate(() => body.fails(error))
  return new Response(body.stream)
}
/** As a browser shows a redirect that it was told not to follow. */
const opaque = Object.defineProperties(new Response(null), {
  status: { value: 0 },
  ok: { value: false },
  type: { value: 'opaqueredirect' },
})

const faults: readonly [string, () => Response | Promise<Response>][] = [
  ['HTML with 200', () => new Response(page, { headers: { 'Content-Type': 'text/html' } })],
  [
    'HTML that calls itself JSON',
    () => new Response(page, { headers: { 'Content-Type': 'application/json' } }),
  ],
  ['another content type', () => new Response(new Uint8Array([0x89, 0x50, 0x4e, 0x47]))],
  ['truncated JSON', () => new Response('{"sid":5,"rows":[{"t":"a"')],
  ['an empty response', () => new Response('')],
  ['204', () => new Response(null, { status: 204 })],
  ['a redirect', () => new Response(null, { status: 302, headers: { Location: 'https://portal.test/' } })],
  ['a redirect in a browser', () => opaque],
  ['a network error as a response', () => Response.error()],
  ['bad gzip', () => broken(Object.assign(new TypeError('terminated'), { cause: { code: 'Z_DATA_ERROR' } }))],
  ['a connection that breaks off', () => broken(new TypeError('network error'), '{"sid":5,"rows":[')],
  ['no connection', () => Promise.reject(new TypeError('fetch failed'))],
  ['a proxy’s 403', () => new Response(page, { status: 403 })],
  ['502', () => new Response(page, { status: 502 })],
  ['null', () => new Response('null')],
  ['an array', () => new Response('[]')],
  ['an object of another kind', () => new Response('{"ok":true}')],
  ['bytes that are not UTF-8', () => new Response(new Uint8Array([0x7b, 0xff, 0x7d]))],
]

describe('invariant 49: a body that is not the expected JSON is a transient failure', () => {
  test.each(faults)('%s, for a snapshot and for a delta', async (_, answer) => {
    const made = setup(answer)
    const sink = new ListSink()
    const errors = [
      await made.transport.bootstrap(sink).catch((error: unknown) => error),
      await made.transport.delta(1).catch((error: unknown) => error),
    ]
    for (const error of errors) {
      expect(isSyncError(error) && error.retryable).toBe(true)
      expect(failureOf(error)).toEqual({ kind: 'other' })
    }
    expect(sink.slices).toEqual([])
    expect(made.clock.timers).toBe(0)
  })
})

test('a redirect is reported as such, whether the runtime shows its status or not', async () => {
  for (const answer of [new Response(null, { status: 307 }), opaque]) {
    const error = await setup(() => answer)
      .transport.delta(1)
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'NetworkError', message: expect.stringContaining('redirects') })
  }
})

test('a snapshot instead of a delta and a wrong content type are read by their content', async () => {
  const made = setup(() => new Response('{"sid":5,"rows":[]}', { headers: { 'Content-Type': 'text/html' } }))
  expect((await made.transport.delta(1)).sid).toBe(5)
})

test('a fetch that throws counts as an unreachable network', async () => {
  const made = setup(() => {
    throw new TypeError('Bearer s3cret')
  })
  const error = await made.transport.delta(1).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    name: 'NetworkError',
    code: 'unreachable',
    message: 'https://api.test/sync/v1/delta cannot be reached.',
  })
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('s3cret')
})
