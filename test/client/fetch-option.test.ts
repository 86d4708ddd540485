import { SyncClient, type SyncError, silentLogger } from 'instep'
import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'
import type { Fetch } from '../../src/base/environment.ts'

async function started(wrap: (fetch: Fetch) => Fetch) {
  const server = mockSyncServer()
  const { environment } = server.device()
  const client = new SyncClient({
    baseUrl: server.baseUrl,
    token: server.token('ada'),
    logger: silentLogger,
    environment: { ...environment, fetch: wrap(environment.fetch) },
  })
  const errors: SyncError[] = []
  client.on('error', (error) => errors.push(error))
  await client.start()
  await server.clock.advance(5_000)
  const end = () => server.clock.until(client.close())
  return { client, errors, end }
}

test('`environment.fetch` is called as a plain function, as `window.fetch` has to be', async () => {
  const { client, errors, end } = await started(
    (fetch) =>
      function (this: unknown, ...args) {
        if (this !== undefined) return Promise.reject(new TypeError('Illegal invocation'))
        return fetch(...args)
      },
  )
  expect(client.status.connection.state).toBe('socket')
  expect(errors).toEqual([])
  await end()
})

const mistakes = [
  ['Illegal invocation', 'Illegal invocation'],
  ["'fetch' called on an object that does not implement interface Window.", 'does not implement'],
  ['Can only call Window.fetch on instances of Window', 'Can only call'],
  ["Cannot read properties of undefined (reading 'secret')", 'Cannot read properties of undefined'],
  ["undefined is not an object (evaluating 'a.secret')", 'is not an object'],
  ['a.secret is not a function', 'is not a function'],
] as const

test.each(mistakes)('a mistake in `environment.fetch` is an error: %s', async (message, quoted) => {
  const { client, errors, end } = await started(() => () => Promise.reject(new TypeError(message)))
  expect(errors[0]).toMatchObject({ name: 'SyncError', code: 'unexpected' })
  expect(errors[0]?.message).toContain(quoted)
  expect(errors[0]?.message).not.toContain('secret')
  expect(client.status.connection.state).toBe('failed')
  await end()
})

const outages = [
  'Failed to fetch',
  'NetworkError when attempting to fetch resource.',
  'Load failed',
  'fetch failed',
  'Network request failed',
]

test.each(outages)('the TypeError of a missing network is no error: %s', async (message) => {
  const { client, errors, end } = await started(() => () => Promise.reject(new TypeError(message)))
  expect(errors).toEqual([])
  expect(client.status.connection.state).toBe('offline')
  await end()
})
