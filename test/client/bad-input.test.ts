import { describe, expect, test } from 'vitest'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'

const json = (body: unknown) => faults.answer(200, typeof body === 'string' ? body : JSON.stringify(body))
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
const row = { t: 'Issue', id: 'x', v: 1, p: {} }

/** Answers that are none. Each leaves the state as before, is told, and is asked for again. */
const brokenAnswers: readonly (readonly [name: string, fault: BareFault, told: RegExp])[] = [
  ['HTML with 200', faults.portal(), /error ProtocolError/],
  ['204', faults.noContent(), /error ProtocolError/],
  ['broken JSON', faults.brokenJson(), /error ProtocolError/],
  ['a body cut short, which ends as if it were whole', faults.truncated(0.5, 'whole'), /error ProtocolError/],
  ['a body cut short by a lost connection', faults.truncated(0.5), /^$/],
  ['an answer without a sid', json({ rows: [], frames: [] }), /error ProtocolError bad_envelope/],
  ['a sid over 2^53', json({ sid: 2 ** 53, rows: [], frames: [] }), /error ProtocolError bad_sid/],
  ['a redirect', faults.redirect('/sign-in'), /error HttpError|error ProtocolError|^$/],
  ['500', faults.answer(500), /error HttpError/],
]

describe.each(['bootstrap', 'delta'])('a %s', (path) => {
  test.each(brokenAnswers)(
    'answered with %s changes nothing, and is asked for again',
    async (_, fault, told) => {
      const device = new Device({ push: 'none' })
      device.insert('1')
      const client = device.client()
      if (path === 'delta') await device.clock.until(client.sync())
      device.server.failNext(fault, { path: `/${path}` })
      const before = { shown: shown(client), lastSyncId: client.lastSyncId }
      device.insert('2')
      await expect(device.clock.until(client.sync(), 120_000)).rejects.toMatchObject({ retryable: true })
      expect({ shown: shown(client), lastSyncId: client.lastSyncId }).toEqual(before)
      device.server.failNext(fault, { path: `/${path}` })
      await client.start()
      await device.clock.advance(120_000)
      expect(shown(client)).toEqual({ 1: {}, 2: {} })
      expect(device.log.join('\n')).toMatch(told)
    },
  )

  test('that is never answered is given up in bounded time, and asked for again', async () => {
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
  test.each(brokenRows)('invariant 65: %s is left out of a snapshot, and told', async (_, text) => {
    const device = new Device()
    device.insert('1')
    const good = '{"t":"Issue","id":"1","v":1,"p":{}},{"t":"Issue","id":"2","v":1,"p":{}}'
    device.server.failNext(json(`{"sid":1,"rows":[${text},${good}]}`), { path: '/bootstrap' })
    const client = await device.live()
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
    expect(device.log).toEqual([expect.stringMatching(/^anomaly row: Left out: /)])
    expect(Object.keys(Object.prototype)).toEqual([])
    await device.quit()
    device.network.cut()
    const again = device.client()
    await again.start()
    expect(Object.keys(shown(again))).toEqual(['1', '2'])
  })

  test.each(brokenRows)('invariant 65: %s is left out of a delta of rows, and told', async (_, text) => {
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
    expect(device.log).toEqual([expect.stringMatching(/^anomaly row: Left out: /)])
  })
})

/** Frames that are none. */
const brokenFrames: readonly (readonly [name: string, text: string])[] = [
  ['no sid', '{"t":"Issue","id":"x","op":"i","p":{}}'],
  ['a sid over 2^53', '{"sid":9007199254740992,"t":"Issue","id":"x","op":"i","p":{}}'],
  ['an unknown op', '{"sid":2,"t":"Issue","id":"x","op":"merge","p":{}}'],
  ['a null payload', '{"sid":2,"t":"Issue","id":"x","op":"i","p":null}'],
  ['the id __proto__', '{"sid":2,"t":"Issue","id":"__proto__","op":"d"}'],
  ['a payload 100 000 deep', `{"sid":2,"t":"Issue","id":"x","op":"i","p":{"deep":${deep}}}`],
]

describe('one frame with', () => {
  test.each(brokenFrames)('invariant 65: %s never blocks a client for ever', async (_, text) => {
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
    expect(device.log[0]).toMatch(/^anomaly frame: Left out: /)
  })

  test.each(brokenFrames)('%s on the socket is told, and what it hides is fetched', async (_, text) => {
    const device = new Device({ push: 'none' })
    device.insert('1')
    const client = await device.live()
    device.insert('2')
    device.server.sockets.send('ada', `[${text},{"sid":2,"t":"Issue","id":"2","op":"i","p":{}}]`)
    await device.clock.advance(2_000)
    expect(Object.keys(shown(client))).toEqual(['1', '2'])
    expect(device.log[0]).toMatch(/^anomaly frame: Left out: /)
    expect(client.status.connection.state).toBe('socket')
  })
})

test('a server that is wrong throughout is told in few words', async () => {
  const device = new Device()
  device.insert('1')
  const rows = Array.from({ length: 5_000 }, () => ({ ...row, id: 5 }))
  device.server.failNext(json({ sid: 1, rows }), { path: '/bootstrap' })
  await device.live()
  expect(device.log).toHaveLength(21)
  expect(device.log.at(-1)).toBe('anomaly row: Left out: 4980 more of the kind.')
})
