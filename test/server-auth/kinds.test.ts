import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createSyncService, type RunningServer, type SyncService, serve } from '../../src/server/index.ts'
import { FakeSocket, insert, recorder, serviceOf } from '../server/harness.ts'
import { type Kind, kinds } from '../support/auth-kinds.ts'
import { VirtualClock } from '../support/virtual.ts'

const endpoints = [
  ['GET', 'bootstrap'],
  ['GET', 'delta?since=0'],
  ['POST', 'tx'],
] as const

/** Which adds the record `3`. */
const transaction = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  since: 0,
  ops: [{ op: 'i', t: 'Todo', id: '3', p: {} }],
}

describe.each(kinds)('with %s', (_, make) => {
  const clock = new VirtualClock()
  const { logger, lines } = recorder()
  let kind: Kind
  let service: SyncService
  let served: RunningServer

  beforeAll(async () => {
    kind = await make(clock)
    service = createSyncService({
      database: 'memory:',
      authenticate: kind.authenticate,
      ownerField: 'userId',
      clock,
      logger,
    })
    await service.write([insert('1'), insert('2', {}, 'bob')])
    served = await serve(service, { port: 0, clock })
  })

  afterAll(async () => {
    const closed = served.close()
    await clock.advance(2_000)
    await closed
    await service.close()
  })

  const headers = (secret?: string): Record<string, string> => {
    if (secret === undefined) return {}
    return { [kind.header]: kind.header === 'authorization' ? `Bearer ${secret}` : secret }
  }
  const ask = (method: string, path: string, secret?: string) =>
    fetch(`${served.url}/${path}`, {
      method,
      headers: headers(secret),
      ...(method === 'POST' ? { body: JSON.stringify({ txs: [transaction] }) } : undefined),
    })
  const open = (query: string, secret?: string) =>
    new WebSocket(`${served.url.replace('http', 'ws')}/ws${query}`, { headers: headers(secret) })

  test('valid credentials are accepted everywhere, and show the user’s records', async () => {
    for (const [method, path] of endpoints) expect((await ask(method, path, kind.good)).status).toBe(200)
    const { rows } = await (await ask('GET', 'bootstrap', kind.good)).json()
    expect(rows.map(({ id }: { id: string }) => id)).toEqual(['1', '3'])
    const socket = open('', kind.good)
    const [message] = await once(socket, 'message')
    expect(JSON.parse(String(message))).toMatchObject({ hello: { sid: 3 } })
    socket.terminate()
  })

  test('a socket accepts a token in its query, and no key', async () => {
    const socket = open(`?token=${kind.good}`)
    const opened = once(socket, 'open').then(() => 101)
    const refused = once(socket, 'unexpected-response').then(([, response]) => response.statusCode)
    opened.catch(() => {})
    refused.catch(() => {})
    expect(await Promise.race([opened, refused])).toBe(kind.header === 'authorization' ? 101 : 401)
    socket.on('error', () => {})
    socket.terminate()
  })

  test.each([
    ['no_token', 'No token was provided.', undefined],
    ['token_expired', 'The token has expired.', 'expired'],
    ['invalid_token', 'The token is not valid.', 'invalid'],
  ] as const)('other credentials are refused everywhere, with a reason: %s', async (code, message, which) => {
    lines.length = 0
    const credentials = which && kind[which]
    const body = { error: { code, message } }
    for (const [method, path] of endpoints) {
      const response = await ask(method, path, credentials)
      expect(response.status).toBe(401)
      expect(await response.json()).toEqual(body)
    }
    const socket = open('', credentials)
    const [, response] = await once(socket, 'unexpected-response')
    expect(response.statusCode).toBe(401)
    expect(JSON.parse(String((await once(response, 'data'))[0]))).toEqual(body)
    expect(lines).toHaveLength(4)
    for (const secret of [kind.good, kind.expired, kind.invalid]) expect(lines.join()).not.toContain(secret)
  })
})

test.each(kinds)(
  'invariant 48: a socket that was opened with %s closes when that expires, and not before',
  async (_, make) => {
    const clock = new VirtualClock()
    const { authenticate, header, good } = await make(clock)
    const { service } = serviceOf({ authenticate, clock })
    const socket = new FakeSocket()
    const value = header === 'authorization' ? `Bearer ${good}` : good
    await service.connect(
      socket,
      new Request('https://sync.test/sync/v1/ws', { headers: { [header]: value } }),
    )
    await clock.advance(59_000)
    expect(socket.closed).toBeUndefined()
    await clock.advance(2_000)
    expect(socket.closed).toEqual([4401, 'token_expired'])
  },
)
