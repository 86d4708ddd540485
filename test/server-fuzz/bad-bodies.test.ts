import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { nodeHandler } from '../../src/server/index.ts'
import { type Grounds, openGrounds } from '../interface/grounds.ts'
import { type Site, serveOn, tokenOf } from '../interface/site.ts'
import { insert } from '../server/harness.ts'
import { mutilated } from '../support/arbitraries.ts'
import { sendRaw, wire } from './raw.ts'

let grounds: Grounds

beforeAll(async () => {
  grounds = await openGrounds()
})

afterAll(() => grounds.close())

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const txs = (ops: string, more = '') =>
  `{"txs":[{"id":"${crypto.randomUUID()}","since":0,"ops":[${ops}]${more}}]}`
const insertOf = (p: string, id = '"x"', t = '"Todo"') => txs(`{"op":"i","t":${t},"id":${id},"p":${p}}`)

/** Bodies whose one transaction is rejected as `invalid`. */
const invalid: readonly (readonly [what: string, body: () => string])[] = [
  ['a NUL in a type', () => insertOf('{}', '"x"', '"\\u0000"')],
  ['a NUL in an id', () => insertOf('{}', '"\\u0000"')],
  ['a NUL in a field', () => insertOf('{"a":"\\u0000"}')],
  ['half a surrogate pair', () => insertOf('{"a":["\\ud800"]}')],
  ['half a surrogate pair in a name', () => insertOf('{"\\udfff":1}')],
  ['__proto__ as a type', () => insertOf('{}', '"x"', '"__proto__"')],
  ['__proto__ as a field', () => insertOf('{"a":{"__proto__":{"polluted":1}}}')],
  ['an invalid owner', () => insertOf('{"userId":{"toString":1}}')],
  ['deep fields', () => insertOf(nested(2_000))],
  ['a number that is too large', () => insertOf('{"n":-1e999}')],
  ['a long id', () => insertOf('{}', `"${'x'.repeat(10_000)}"`)],
  ['no op', () => txs('{"op":"drop table"}')],
  ['an invalid position', () => txs('{"op":"d","t":"Todo","id":"x","unchangedSince":1e300}')],
]

/** The verdict on a body: the status, and the code of each rejection. */
async function verdictOf(site: Site, body: BodyInit): Promise<readonly unknown[]> {
  const response = await site.ask('tx', { method: 'POST', body })
  const { error, results = [] } = await response.json()
  const codes = results.map((result: { error?: { code: string } }) => result.error?.code ?? 'accepted')
  return [response.status, error?.code, ...codes]
}

async function answersStill(site: Site): Promise<void> {
  expect((await site.json('bootstrap')).rows).toMatchObject([{ id: '1', p: { userId: 'ann' } }])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(site.lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
}

describe.each(['memory', 'PostgreSQL'] as const)('on %s, a body', (kind) => {
  const open = async () => {
    const site = await serveOn(await grounds.log(kind))
    await site.service.write([insert('1')])
    return site
  }

  test('that cannot be stored is rejected for good, with the same verdict each time', async () => {
    const site = await open()
    for (const [what, make] of invalid) {
      const body = make()
      for (let time = 0; time < 2; time += 1) {
        expect([what, ...(await verdictOf(site, body))]).toEqual([what, 200, undefined, expect.any(String)])
      }
    }
    await answersStill(site)
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'x'])(
    'is read as JSON with any content type, such as %s',
    async (type) => {
      const site = await open()
      const headers = { 'content-type': type }
      const response = await site.ask('tx', {
        method: 'POST',
        headers,
        body: txs('{"op":"d","t":"a","id":"b"}'),
      })
      expect(response.status).toBe(200)
      expect((await site.ask('tx', { method: 'POST', headers, body: 'x' })).status).toBe(400)
    },
  )

  test('that breaks off or has a wrong form ends only its own request', async () => {
    const site = await open()
    const head = ['Host: sync.test', `Authorization: Bearer ${await tokenOf('ann')}`]
    const chunked = (text: string) =>
      wire('POST /sync/v1/tx HTTP/1.1', [...head, 'Transfer-Encoding: chunked'], text)
    const sized = (text: string, length: number) =>
      wire('POST /sync/v1/tx HTTP/1.1', [...head, `Content-Length: ${length}`], text)
    const whole = txs('{"op":"i","t":"Todo","id":"never","p":{}}')
    const requests = [
      chunked('5\r\n{"txs'),
      chunked('zz\r\n{"txs'),
      chunked('ffffffffffffffff\r\n{}'),
      chunked(`${whole.length.toString(16)}\r\n${whole}\r\n`),
      chunked('5;x=y\r\n{"txs\r\n0\r\nTrailer: \0\r\n\r\n'),
      sized(whole, whole.length + 1),
      sized('{"txs":[', 1_000),
      sized('', 1_000),
    ]
    for (const request of requests) {
      for (const after of ['end', 'reset'] as const) {
        const { status = 400, hung } = await sendRaw(site.port, request, { after })
        expect([request, hung, status >= 400 && status < 500]).toEqual([request, false, true])
      }
    }
    await answersStill(site)
  })

  test('that does not arrive delays nobody, and times out as the server of Node says', async () => {
    const site = await open()
    // The last request is answered although its body does not arrive: in time, however busy the machine is.
    const limits = { headersTimeout: 300, requestTimeout: 4_000, connectionsCheckingInterval: 100 }
    const handle = nodeHandler(site.service)
    const server = createServer(limits, (incoming, outgoing) => void handle(incoming, outgoing))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const head = ['Host: sync.test', `Authorization: Bearer ${await tokenOf('ann')}`, 'Content-Length: 100']
    const slow = [
      'POST /sync/v1/tx HTTP/1.1\r\nHost:',
      wire('POST /sync/v1/tx HTTP/1.1', head, '{"txs"'),
      wire('POST /sync/v1/bootstrap HTTP/1.1', head, 'x'),
    ].map((request) => sendRaw(port, request))
    await answersStill(site)
    const statuses = (await Promise.all(slow)).map(({ status, hung }) => [status, hung])
    expect(statuses).toEqual([
      [408, false],
      [408, false],
      [200, false],
    ])
    await answersStill(site)
  })
})

test('memory and PostgreSQL give the same verdict on anything, and neither fails', async () => {
  const memory = await serveOn(await grounds.log('memory'))
  const postgres = await serveOn(await grounds.log('PostgreSQL'))
  const op = fc.record({
    op: fc.constantFrom('i', 'u', 'd'),
    t: fc.constantFrom('Todo', 'constructor', "';--", '"x"', '\u2028'),
    id: fc.constantFrom('1', '2', '%', "'", '\\', '\ud83d\ude00'),
    p: fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 3 }),
  })
  const tx = fc.record({
    id: fc.uuid(),
    since: fc.nat(5),
    ops: fc.array(
      fc.oneof({ weight: 3, arbitrary: op }, { weight: 1, arbitrary: mutilated(op, ['op', 't', 'id', 'p']) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  })
  const body = fc.record({
    txs: fc.array(fc.oneof(tx, mutilated(tx, ['id', 'since', 'ops'])), { maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(body, async (one) => {
      const text = JSON.stringify(one)
      const [here, there] = [await verdictOf(memory, text), await verdictOf(postgres, text)]
      expect(there).toEqual(here)
      expect(here[0]).toBeLessThan(500)
    }),
    { numRuns: 60 },
  )
  const rows = async (site: Site) =>
    (await site.json('bootstrap')).rows.map(({ t, id, p }) => JSON.stringify([t, id, p])).sort()
  expect(await rows(postgres)).toEqual(await rows(memory))
}, 120_000)
