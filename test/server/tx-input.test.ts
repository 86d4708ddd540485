import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { isStorable } from '../../src/protocol/json-copy.ts'
import { serve } from '../../src/server/index.ts'
import { insert, requestTo, update } from './harness.ts'
import { make, tx, txServiceOf } from './tx-support.ts'

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

const op = '{"op":"i","t":"Todo","id":"1","p":{}}'

describe('a malformed body', () => {
  test.each([
    ['nothing', ''],
    ['text that is not JSON', '{"txs":'],
    ['HTML', '<!doctype html>'],
    [
      'bytes that are not UTF-8',
      Buffer.from(`{"txs":[{"id":"a","since":0,"ops":[${op.replace('1', 'ÿ')}]}]}`, 'latin1'),
    ],
    ['null', 'null'],
    ['an array', '[]'],
    ['no transactions', '{"txs":[]}'],
    ['transactions that are not a list', '{"txs":{"length":1}}'],
    ['a transaction that is null', '{"txs":[null]}'],
    ['no id', `{"txs":[{"since":0,"ops":[${op}]}]}`],
    ['an empty id', `{"txs":[{"id":"","since":0,"ops":[${op}]}]}`],
    ['a long id', `{"txs":[{"id":"${'x'.repeat(65)}","since":0,"ops":[${op}]}]}`],
    ['an id with a NUL', `{"txs":[{"id":"a\\u0000","since":0,"ops":[${op}]}]}`],
    ['an id with half a surrogate pair', `{"txs":[{"id":"\\ud800","since":0,"ops":[${op}]}]}`],
    ['no position', `{"txs":[{"id":"a","ops":[${op}]}]}`],
    ['a position beyond 2^53', `{"txs":[{"id":"a","since":9007199254740993,"ops":[${op}]}]}`],
    ['no ops', '{"txs":[{"id":"a","since":0,"ops":[]}]}'],
    ['ops that are not a list', '{"txs":[{"id":"a","since":0,"ops":{}}]}'],
    ['bases that are not ids', `{"txs":[{"id":"a","since":0,"ops":[${op}],"bases":[1]}]}`],
    ['requirements that are not a list', `{"txs":[{"id":"a","since":0,"ops":[${op}],"requires":"b"}]}`],
    ['deep nesting, not closed', '['.repeat(100_000)],
    ['deep nesting of arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ])('is answered with 400: %s', async (_, body) => {
    const { post, json } = txServiceOf()
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: { code: 'bad_request', message: expect.any(String) } })
    expect((await json('bootstrap')).sid).toBe(0)
  })

  test('is not quoted in the error', async () => {
    const { post, lines } = txServiceOf()
    expect(await (await post('{"secret')).text()).not.toContain('secret')
    expect(lines).toEqual([])
  })
})

test('a body that was read before is a fault of the server, so that no client takes it for a verdict', async () => {
  const { service, lines } = txServiceOf()
  const body = JSON.stringify({ txs: [tx('a', [make('1')])] })
  const request = requestTo('tx', 'ann', { method: 'POST', body })
  await request.text()
  const response = await service.fetch(request)
  const message = expect.stringMatching(/^Something else has read the request body; mount Instep before/)
  expect([response.status, await response.json()]).toEqual([500, { error: { code: 'internal', message } }])
  expect(lines).toEqual([expect.stringContaining('A request failed.')])
})

test('a body is read if `Request` has no `body`, as in Firefox', async () => {
  const { codes } = txServiceOf()
  const body = vi.spyOn(Request.prototype, 'body', 'get').mockReturnValue(undefined as never)
  expect(await codes([tx('a', [make('1')])])).toEqual(['accepted'])
  body.mockRestore()
})

describe('an invalid op', () => {
  test.each([
    ['null', 'null'],
    ['a number', '1'],
    ['an unknown op', '{"op":"x","t":"Todo","id":"2","p":{}}'],
    ['no type', '{"op":"d","id":"2"}'],
    ['an id that is a number', '{"op":"d","t":"Todo","id":2}'],
    ['no fields', '{"op":"i","t":"Todo","id":"2"}'],
    ['fields that are a list', '{"op":"i","t":"Todo","id":"2","p":[]}'],
    ['a put that is not a boolean', '{"op":"i","t":"Todo","id":"2","p":{},"put":1}'],
    ['an invalid unchangedSince', '{"op":"d","t":"Todo","id":"1","unchangedSince":"1"}'],
    ['a reserved type', '{"op":"i","t":"__proto__","id":"2","p":{}}'],
    ['a reserved id', '{"op":"i","t":"Todo","id":"__proto__","p":{}}'],
    ['a reserved field', '{"op":"i","t":"Todo","id":"2","p":{"__proto__":{}}}'],
    ['a reserved field further down', '{"op":"u","t":"Todo","id":"1","p":{"a":{"__proto__":{}}}}'],
    ['a NUL in a type', '{"op":"i","t":"To\\u0000do","id":"2","p":{}}'],
    ['a NUL in an id', '{"op":"d","t":"Todo","id":"\\u0000"}'],
    ['a NUL in a field’s name', '{"op":"i","t":"Todo","id":"2","p":{"\\u0000":1}}'],
    ['a NUL in a value', '{"op":"i","t":"Todo","id":"2","p":{"a":["x\\u0000"]}}'],
    ['half a surrogate pair in an id', '{"op":"d","t":"Todo","id":"\\udc00"}'],
    ['half a surrogate pair in a value', '{"op":"u","t":"Todo","id":"1","p":{"a":"\\ud83d"}}'],
    ['a number that is not finite', '{"op":"i","t":"Todo","id":"2","p":{"n":1e999}}'],
    ['a long type', `{"op":"d","t":"${'x'.repeat(256)}","id":"2"}`],
    ['a long id', `{"op":"d","t":"Todo","id":"${'x'.repeat(256)}"}`],
    ['`was` of an insert that is not null', '{"op":"i","t":"Todo","id":"2","p":{},"was":{}}'],
    ['`was` and put', '{"op":"i","t":"Todo","id":"2","p":{},"put":true,"was":null}'],
    ['`was` and unchangedSince', '{"op":"d","t":"Todo","id":"1","was":{},"unchangedSince":0}'],
    ['`was` that is null', '{"op":"u","t":"Todo","id":"1","p":{},"was":null}'],
    ['`was` of a field that is not written', '{"op":"u","t":"Todo","id":"1","p":{"a":1},"was":{"b":1}}'],
    ['`was` with a reserved field', '{"op":"d","t":"Todo","id":"1","was":{"a":{"__proto__":1}}}'],
    ['`was` with a NUL', '{"op":"d","t":"Todo","id":"1","was":{"a":"\\u0000"}}'],
    ['`unset` that is not a list', '{"op":"u","t":"Todo","id":"1","p":{},"unset":"a"}'],
    ['`unset` of a field that is set', '{"op":"u","t":"Todo","id":"1","p":{"a":1},"unset":["a"]}'],
    ['`unset` of a reserved field', '{"op":"u","t":"Todo","id":"1","p":{},"unset":["__proto__"]}'],
    ['`unset` with a NUL', '{"op":"u","t":"Todo","id":"1","p":{},"unset":["\\u0000"]}'],
    ['depth 501', `{"op":"i","t":"Todo","id":"2","p":${nested(500)}}`],
    ['depth 10 000', `{"op":"u","t":"Todo","id":"1","p":${nested(10_000)}}`],
    ['depth 10 000 elsewhere', `{"op":${nested(10_000)}}`],
  ])(
    'invariant 54: an invalid op is rejected for good, and stops no other transaction: %s',
    async (_, text) => {
      const { service, post, json } = txServiceOf()
      await service.write([insert('1')])
      const body = `{"txs":[{"id":"a","since":0,"ops":[${text}]},{"id":"b","since":0,"ops":[{"op":"d","t":"Todo","id":"1"}]}]}`
      const answer = await (await post(body)).json()
      expect(answer.results).toMatchObject([
        { id: 'a', error: { code: 'invalid' } },
        { id: 'b', sid: 2 },
      ])
      expect(isStorable(answer.results[0].error.message)).toBe(true)
      expect(await (await post(body)).json()).toEqual(answer)
      expect((await json('delta?since=1')).frames).toHaveLength(1)
    },
  )

  test('is found before the ops around it are applied', async () => {
    const { codes, json } = txServiceOf()
    expect(await codes([tx('a', [make('1'), { op: 'x' }]), tx('a', [make('1')])])).toEqual([
      'invalid',
      'id_reused',
    ])
    expect((await json('bootstrap')).rows).toEqual([])
  })
})

test.each([
  ['depth 500', `{"op":"i","t":"Todo","id":"2","p":${nested(499)}}`],
  ['whole surrogate pairs', '{"op":"i","t":"😀","id":"\\ud83d\\ude00","p":{"a":"😀"}}'],
  ['names of JavaScript', '{"op":"i","t":"constructor","id":"toString","p":{"hasOwnProperty":1}}'],
  ['empty names', '{"op":"i","t":"","id":"","p":{"":0}}'],
  ['unknown fields', '{"op":"i","t":"Todo","id":"2","p":{},"later":{"__proto__":1}}'],
])('an unusual op in JSON is accepted: %s', async (_, text) => {
  const { post } = txServiceOf()
  const answer = await (await post(`{"txs":[{"id":"a","since":0,"ops":[${text}]}]}`)).json()
  expect(answer.results).toEqual([{ id: 'a', sid: 1 }])
})

test('invariant 53: a field `__proto__` changes no prototype, and names of JavaScript’s are ordinary names', async () => {
  const { post, json } = txServiceOf()
  const evil = '{"op":"i","t":"Todo","id":"1","p":{"__proto__":{"polluted":1}}}'
  const plain =
    '{"op":"i","t":"constructor","id":"__defineGetter__","p":{"constructor":{"prototype":{"polluted":1}}}}'
  const body = `{"__proto__":{"polluted":1},"txs":[{"id":"a","since":0,"ops":[${evil}]},{"id":"b","since":0,"ops":[${plain}]}]}`
  expect((await (await post(body)).json()).results).toMatchObject([
    { error: { code: 'invalid' } },
    { sid: 1 },
  ])
  expect((await json('bootstrap')).rows).toMatchObject([{ t: 'constructor', p: { constructor: {} } }])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

describe('a body above the limits', () => {
  const streamed = (text: string, chunkLength = 10) => {
    const bytes = new TextEncoder().encode(text)
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(bytes.subarray(at, at + chunkLength))
        at += chunkLength
        if (at >= bytes.length) controller.close()
      },
    })
    return [body, { duplex: 'half' } as RequestInit] as const
  }
  const text = JSON.stringify({ txs: [tx('a', [make('1', { a: 'é'.repeat(20) })])] })
  const length = Buffer.byteLength(text)

  test('invariant 57: is measured in bytes, with and without a `Content-Length`, and the maximum is accepted', async () => {
    const small = txServiceOf({ maxBodyBytes: length - 1 })
    for (const response of [await small.post(text), await small.post(...streamed(text))]) {
      expect(response.status).toBe(413)
      expect((await response.json()).error.code).toBe('too_large')
    }
    const fitting = txServiceOf({ maxBodyBytes: length })
    for (const response of [await fitting.post(text), await fitting.post(...streamed(text))]) {
      expect(response.status).toBe(200)
    }
  })

  test('is refused by its `Content-Length`, before it is read', async () => {
    const { post } = txServiceOf({ maxBodyBytes: 100 })
    const response = await post('{}', { headers: { 'Content-Length': '101' } })
    expect(response.status).toBe(413)
  })

  test('is not read beyond the limit', async () => {
    const { post } = txServiceOf({ maxBodyBytes: 100 })
    let read = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        read += 50
        controller.enqueue(new Uint8Array(50).fill(0x20))
      },
    })
    expect((await post(endless, { duplex: 'half' } as RequestInit)).status).toBe(413)
    expect(read).toBeLessThan(400)
  })

  test('does not keep its pieces, so that many small ones take no more memory than few large ones', async () => {
    const bytes = new TextEncoder().encode(text)
    const piece = new Uint8Array(1)
    let at = 0
    const body = new ReadableStream<Uint8Array>(
      {
        // Whoever kept the piece would have the last byte, and nothing else.
        pull(controller) {
          piece.set(bytes.subarray(at, at + 1))
          controller.enqueue(piece)
          at += 1
          if (at === bytes.length) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const response = await txServiceOf().post(body, { duplex: 'half' } as RequestInit)
    expect(response.status).toBe(200)
  })

  test('invariant 57: is not decompressed', async () => {
    const { post } = txServiceOf()
    const bomb = gzipSync(Buffer.alloc(10_000_000, 0x20))
    const response = await post(new Uint8Array(bomb), { headers: { 'Content-Encoding': 'gzip' } })
    expect(response.status).toBe(415)
    expect((await response.json()).error.code).toBe('unsupported_encoding')
    expect((await post(text, { headers: { 'Content-Encoding': 'Identity' } })).status).toBe(200)
  })

  test('is also one with too many transactions, ops or names', async () => {
    const { post, json } = txServiceOf({ maxTransactions: 2, maxOps: 3 })
    const many = (n: number) => Array.from({ length: n }, (_, at) => make(`${at}`))
    const ids = ['a', 'b', 'c', 'd']
    const statusOf = async (txs: readonly object[]) => (await post(JSON.stringify({ txs }))).status
    expect(await statusOf([tx('a', many(1)), tx('b', many(1)), tx('c', many(1))])).toBe(413)
    expect(await statusOf([tx('a', many(1)), tx('b', many(4))])).toBe(413)
    expect(await statusOf([tx('a', many(1), { requires: ids })])).toBe(413)
    expect(await statusOf([tx('a', many(1), { bases: ids })])).toBe(413)
    expect((await json('bootstrap')).sid).toBe(0)
    expect(await statusOf([tx('a', many(3)), tx('b', [update('1', { n: 1 })])])).toBe(200)
  })

  test('gets a response over real HTTP before it was read to its end', async () => {
    const { service } = txServiceOf()
    const served = await serve(service, { port: 0 })
    const headers = { Authorization: 'Bearer token-of-ann', 'Content-Type': 'application/json' }
    const post = (body: BodyInit) =>
      fetch(`${served.url}/tx`, { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
    const large = `${' '.repeat(3_000_000)}{}`
    expect((await post(large)).status).toBe(413)
    expect((await post(streamed(large, 65_536)[0])).status).toBe(413)
    expect((await post(text)).status).toBe(200)
    await served.close()
  })
})

test('a body that breaks off is refused', async () => {
  const { post } = txServiceOf()
  const broken = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.error(new Error('gone'))
    },
  })
  expect((await post(broken, { duplex: 'half' } as RequestInit)).status).toBe(400)
})

test('any JSON gets a verdict or a refusal, never a fault', async () => {
  const scalar = fc.oneof(fc.constantFrom(null, 0, 1, '', 'a', 'i', 'Todo', '__proto__', true), fc.string())
  const loose = <T>(value: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 8, arbitrary: value }, { weight: 1, arbitrary: scalar })
  const anyOp = fc.record(
    {
      op: loose(fc.constantFrom('i', 'u', 'd')),
      t: loose(fc.constant('Todo')),
      id: loose(fc.constantFrom('1', '2')),
      p: loose(fc.dictionary(fc.string(), fc.jsonValue())),
      put: loose(fc.boolean()),
      unchangedSince: loose(fc.integer()),
    },
    { requiredKeys: ['op', 't', 'id'] },
  )
  const anyTx = fc.record(
    {
      id: loose(fc.constantFrom('a', 'b', 'c', 'd')),
      since: loose(fc.integer()),
      ops: loose(fc.array(loose(anyOp))),
      bases: loose(fc.array(loose(fc.constantFrom('a', 'b')))),
      requires: loose(fc.array(loose(fc.constantFrom('a', 'b')))),
    },
    { requiredKeys: ['id', 'since', 'ops'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(loose(fc.record({ txs: loose(fc.array(loose(anyTx))) }))), async (bodies) => {
      const { post } = txServiceOf()
      for (const body of bodies) {
        const response = await post(JSON.stringify(body))
        expect([200, 400]).toContain(response.status)
        const answer = await response.json()
        if (response.status === 200)
          expect(answer.results).toHaveLength((body as { txs: unknown[] }).txs.length)
        else expect(answer.error.code).toBe('bad_request')
      }
    }),
    { numRuns: 40 },
  )
})
