import { describe, expect, test } from 'vitest'
import { isSyncError, type WebSocketLike } from '../../src/index.ts'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, dataOf, inStep, shown } from '../support/device.ts'

const json = (body: unknown) => faults.answer(200, typeof body === 'string' ? body : JSON.stringify(body))
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const row = { t: 'Issue', id: 'x', v: 1, p: {} }

/** Answers that are none, and the error that each is. */
const brokenAnswers: readonly (readonly [name: string, fault: BareFault, error: RegExp])[] = [
  ['HTML with 200', faults.portal(), /^ProtocolError not_json$/],
  ['204', faults.noContent(), /^ProtocolError (truncated|not_json)$/],
  ['broken JSON', faults.brokenJson(), /^ProtocolError not_json$/],
  [
    'a truncated body that ends without a sign',
    faults.truncated(0.5, 'whole'),
    /^ProtocolError (truncated|not_json)$/,
  ],
  ['a body cut short by a lost connection', faults.truncated(0.5), /^NetworkError unreachable$/],
  ['a body that stops in the middle', faults.truncated(0.5, 'stalled'), /^NetworkError timeout$/],
  ['a body that is not compressed as it says', faults.badGzip(), /^NetworkError unreachable$/],
  ['an answer without a sid', json({ rows: [], frames: [] }), /^ProtocolError bad_envelope$/],
  ['an answer that is a list', json([]), /^ProtocolError (bad_envelope|not_json)$/],
  ['an answer with nothing in it', json({ sid: 2 }), /^ProtocolError bad_envelope$/],
  ['a sid over 2^53', json({ sid: 2 ** 53, rows: [], frames: [] }), /^ProtocolError bad_sid$/],
  ['a sid that is text', json({ sid: '2', rows: [], frames: [] }), /^ProtocolError bad_sid$/],
  ['only brackets, 100 000 deep', json(deep), /^ProtocolError (bad_envelope|not_json)$/],
  ['a redirect', faults.redirect('/sign-in'), /^NetworkError unreachable$/],
  ['500', faults.answer(500), /^HttpError http_status$/],
]

describe.each(['bootstrap', 'delta'])('a %s', (path) => {
  test.each(brokenAnswers)(
    'invariant 49: answered with %s causes a typed error, changes nothing, and is requested again',
    async (_, fault, expected) => {
      const device = new Device({ push: 'none' })
      device.insert('1')
      const client = device.client()
      if (path === 'delta') await device.clock.until(client.sync())
      device.server.failNext(fault, { path: `/${path}` })
      const before = dataOf(client)
      device.insert('2')
      const error = await device.clock.until(client.sync().catch((thrown: unknown) => thrown))
      if (!isSyncError(error)) throw new Error('There was no typed error.', { cause: error })
      expect(`${error.name} ${error.code}`).toMatch(expected)
      expect(error.retryable).toBe(true)
      expect(dataOf(client)).toEqual(before)
      device.log.length = 0
      device.server.failNext(fault, { path: `/${path}` })
      await client.start()
      await device.clock.advance(120_000)
      expect(shown(client)).toEqual({ 1: {}, 2: {} })
      // That there is no network is no error; the status tells it.
      expect(device.log).toEqual(error.name === 'NetworkError' ? [] : [`error ${error.name} ${error.code}`])
    },
  )

  test('without a response times out, and is requested again', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = device.client()
    if (path === 'delta') await device.clock.until(client.sync())
    device.server.failNext(faults.silent(), { path: `/${path}` })
    device.insert('2')
    await client.start()
    await device.clock.advance(180_000)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
  })
})

/** Rows that are none, among good ones: the text of each. */
const brokenRows: readonly (readonly [name: string, text: string])[] = [
  ['null', 'null'],
  ['a number for its type', '{"t":1,"id":"x","p":{}}'],
  ['a number for its id', '{"t":"Issue","id":1,"p":{}}'],
  ['a null payload', '{"t":"Issue","id":"x","p":null}'],
  ['text for a payload', '{"t":"Issue","id":"x","p":"y"}'],
  ['the type __proto__', '{"t":"__proto__","id":"x","p":{}}'],
  ['the id __proto__', '{"t":"Issue","id":"__proto__","p":{}}'],
  ['the field __proto__', '{"t":"Issue","id":"x","p":{"__proto__":{"polluted":true}}}'],
  ['a payload 100 000 deep', `{"t":"Issue","id":"x","p":{"deep":${deep}}}`],
]

describe('one row with', () => {
  test.each(brokenRows)('invariant 65: %s is omitted from a snapshot, and reported', async (_, text) => {
    const device = new Device()
    device.insert('1')
    const good = '{"t":"Issue","id":"1","v":1,"p":{}},{"t":"Issue","id":"2","v":1,"p":{}}'
    device.server.failNext(json(`{"sid":1,"rows":[${text},${good}]}`), { path: '/bootstrap' })
    const client = await device.live()
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
    expect(device.log).toEqual([expect.stringMatching(/^anomaly row: Ignored invalid data: /)])
    expect(Object.keys(Object.prototype)).toEqual([])
    const again = await device.offline()
    expect(Object.keys(shown(again))).toEqual(['1', '2'])
  })

  test.each(brokenRows)('invariant 65: %s is omitted from a delta of rows, and reported', async (_, text) => {
    const device = new Device()
    device.insert('1')
    const client = device.client()
    await device.clock.until(client.sync())
    device.server.failNext(json(`{"sid":2,"rows":[${text},{"t":"Issue","id":"2","p":{}}]}`), {
      path: '/delta',
    })
    await device.clock.until(client.sync())
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
    expect(client.lastSyncId).toBe(2)
    expect(device.log).toEqual([expect.stringMatching(/^anomaly row: Ignored invalid data: /)])
  })
})

describe('a snapshot with a wrong count', () => {
  const snapshot = json({ sid: 1, count: 2, rows: [{ ...row, id: '1' }] })

  test('is fetched again, and nothing is reported if the second one is right', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    device.insert('2')
    device.server.failNext(snapshot, { path: '/bootstrap' })
    const client = await device.live()
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.bootstraps).toBe(2)
    expect(device.log).toEqual([])
  })

  test('twice is accepted, and reported', async () => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    device.server.failNext(snapshot, { path: '/bootstrap', times: 2 })
    const client = await device.live()
    expect(shown(client)).toEqual({ 1: {} })
    expect(device.bootstraps).toBe(2)
    expect(device.log).toEqual(['anomaly count: The snapshot declared 2 rows and had 1, twice.'])
  })
})

/** Frames that are none. */
const brokenFrames: readonly (readonly [name: string, text: string])[] = [
  ['no sid', '{"t":"Issue","id":"x","op":"i","p":{}}'],
  ['a sid over 2^53', '{"sid":9007199254740992,"t":"Issue","id":"x","op":"i","p":{}}'],
  ['an unknown op', '{"sid":2,"t":"Issue","id":"x","op":"merge","p":{}}'],
  ['a null payload', '{"sid":2,"t":"Issue","id":"x","op":"i","p":null}'],
  ['a number for its id', '{"sid":2,"t":"Issue","id":7,"op":"d"}'],
  ['the type __proto__', '{"sid":2,"t":"__proto__","id":"x","op":"i","p":{}}'],
  ['the id __proto__', '{"sid":2,"t":"Issue","id":"__proto__","op":"d"}'],
  ['the field __proto__', '{"sid":2,"t":"Issue","id":"x","op":"u","p":{"__proto__":{"polluted":true}}}'],
  ['a payload 100 000 deep', `{"sid":2,"t":"Issue","id":"x","op":"i","p":{"deep":${deep}}}`],
]

describe('one frame with', () => {
  test.each(brokenFrames)('invariant 65: %s does not block a client forever', async (_, text) => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = device.client()
    await device.clock.until(client.sync())
    device.insert('2')
    const poisoned = json(`{"sid":2,"frames":[${text},{"sid":2,"t":"Issue","id":"2","op":"i","p":{}}]}`)
    device.server.failNext(poisoned, { path: '/delta', times: 3 })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'bootstrap', sid: 2 })
    expect(await device.clock.until(client.sync())).toMatchObject({ kind: 'delta', sid: 2 })
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
    expect(device.log[0]).toMatch(/^anomaly frame: Ignored invalid data: /)
  })

  test.each(brokenFrames)(
    '%s on the socket is reported, and the missing change is fetched',
    async (_, text) => {
      const { device, client } = await inStep({ 1: {} }, {}, { push: 'none' })
      device.insert('2')
      device.push(`[${text},{"sid":2,"t":"Issue","id":"2","op":"i","p":{}}]`)
      await device.clock.advance(2_000)
      expect(Object.keys(shown(client))).toEqual(['1', '2'])
      expect(device.log[0]).toMatch(/^anomaly frame: Ignored invalid data: /)
      expect(client.status.connection.state).toBe('socket')
    },
  )
})

/** What a socket may bring that is no push: as it stands in the event. */
const garbage: readonly (readonly [name: string, data: unknown, told: readonly string[]])[] = [
  ['nothing', '', ['push']],
  ['what is not JSON', '<ping>', ['push']],
  ['bytes', new Uint8Array([1, 2, 3]), ['push']],
  ['half of a frame', '{"sid":2,"t":"Iss', ['push']],
  ['null', 'null', []],
  ['a number', '7', []],
  ['a list of nothing', '[]', []],
  ['a list of lists', '[[[]]]', []],
  ['brackets, 100 000 deep', deep, []],
  ['a sid over 2^53', '{"sid":9007199254740992}', []],
  ['a sid that is far ahead', '{"sid":9007199254740991}', []],
  ['a hello without a sid', '{"hello":{}}', []],
  ['a hello with a sid over 2^53', '{"hello":{"sid":9007199254740992}}', []],
  ['a hello with a heartbeat of nothing', '{"hello":{"sid":1,"heartbeatMs":0}}', []],
  ['a delta of a row that is none', '{"sid":2,"rows":[7]}', ['row']],
  ['the key __proto__', '{"__proto__":{"sid":2,"frames":[]}}', []],
]

describe('garbage on the socket', () => {
  test.each(garbage)('%s changes nothing, and later pushes arrive', async (_, data, told) => {
    const device = new Device()
    device.insert('1')
    let socket: WebSocketLike | undefined
    const { WebSocket } = device.environment
    if (!WebSocket) throw new Error('There are no sockets.')
    const client = await device.live({
      environment: {
        ...device.environment,
        WebSocket: class extends WebSocket {
          constructor(url: string) {
            super(url)
            socket = this
          }
        },
      },
    })
    const before = dataOf(client)
    socket?.onmessage?.({ data })
    await device.clock.advance(3_000)
    expect(dataOf(client)).toEqual(before)
    expect(device.log.map((line) => line.replace(/^anomaly (\w+): .*/, '$1'))).toEqual(told)
    device.insert('2')
    await device.clock.advance(50)
    expect(shown(client)).toEqual({ 1: {}, 2: {} })
    expect(device.server.sockets.opened).toBe(1)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

test('a server that is always wrong is reported briefly', async () => {
  const device = new Device()
  device.insert('1')
  const rows = Array.from({ length: 5_000 }, () => ({ ...row, id: 5 }))
  device.server.failNext(json({ sid: 1, rows }), { path: '/bootstrap' })
  await device.live()
  expect(device.log).toHaveLength(21)
  expect(device.log.at(-1)).toBe('anomaly row: Ignored invalid data: 4980 more rows.')
})
