import { expect, test } from 'vitest'
import { mockSyncServer } from '../../src/testing/index.ts'
import { setScene } from './scene.ts'

const scene = setScene()

/** As from plain JavaScript, where no type is checked. */
type Loose = Record<string, (...given: unknown[]) => unknown>

const make = mockSyncServer as unknown as (options: unknown) => unknown

test.each([
  [{ latency: 5 }, 'latency'],
  [{ clock: 'fake' }, 'clock'],
  [{ baseUrl: '/sync/v1' }, 'baseUrl'],
  [{ baseUrl: 'ws://sync.test' }, 'baseUrl'],
  [{ baseUrl: 'https://' }, 'baseUrl'],
  [{ latencyMs: '20' }, 'latencyMs'],
  [{ latencyMs: -1 }, 'latencyMs'],
  [{ seed: 'x' }, 'seed'],
  [{ callerOf: 'ada' }, 'callerOf'],
  [null, 'options'],
])('a server refuses %j', (options, option) => {
  expect(() => make(options)).toThrow(expect.objectContaining({ name: 'ConfigurationError', option }))
})

test.each(['https://sync.test', 'https://sync.test/', 'http://localhost:3000/sync/v1/'])(
  'a server may be at %s',
  async (baseUrl) => {
    const server = mockSyncServer({ baseUrl })
    expect(server.baseUrl).toBe(baseUrl.replace(/\/$/, ''))
    await server.write([{ op: 'i', t: 'Issue', id: 'i1', p: {} }], 'ada')
    const client = server.client({ identity: 'ada' })
    await client.start()
    await server.settle()
    expect([client.status.connection.state, client.count('Issue')]).toEqual(['socket', 1])
    await server.close()
  },
)

test.each([
  ['client', [], 'options'],
  ['client', [{}], 'identity'],
  ['client', [{ identity: 'ada', baseUrl: 'https://elsewhere.test/sync/v1' }], 'baseUrl'],
  ['client', [{ identity: 'ada', stroe: {} }], 'stroe'],
  ['late', ['5'], 'ms'],
  ['late', [5, { endpoints: 'tx' }], 'endpoints'],
  ['never', [{ time: 2 }], 'time'],
  ['never', [{ times: 0 }], 'times'],
  ['never', [{ endpoint: 'sync' }], 'endpoint'],
  ['never', ['tx'], 'options'],
  ['loseResponse', [{ times: '2' }], 'times'],
  ['wrong', [500, { header: {} }], 'header'],
  ['wrong', [500, { headers: 'x' }], 'headers'],
  ['wrong', ['htm'], 'wrong'],
  ['reject', ['nope'], 'code'],
  ['reject', ['conflict', { mesage: 'x' }], 'mesage'],
  ['push', [undefined], 'message'],
  ['token', [], 'identity'],
  ['token', ['ada', '5'], 'lifetimeMs'],
  ['expire', [''], 'identity'],
  ['revoke', [7], 'identity'],
])('%s refuses %j', (command, given, option) => {
  const { server } = scene()
  const loose = server as unknown as Loose
  expect(() => loose[command]?.(...given)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option }),
  )
})

test.each([
  ['settle', [{ quiet: 5 }], 'quiet'],
  ['settle', [{ quietMs: 'x' }], 'quietMs'],
  ['rows', [], 'identity'],
  ['write', [{ op: 'i' }], 'ops'],
  ['write', [{ op: 'i' }, 'ada'], 'ops'],
  ['restore', [{ op: 'i' }], 'ops'],
])('%s rejects %j', async (command, given, option) => {
  const { server } = scene()
  const loose = server as unknown as Loose
  await expect(loose[command]?.(...given)).rejects.toMatchObject({ name: 'ConfigurationError', option })
})
