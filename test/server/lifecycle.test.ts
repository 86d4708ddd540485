import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { rateLimiter } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

test('`close` waits for the log, rejects if that fails to close, and closes sockets at once', async () => {
  const { service, log, connect } = serviceOf()
  const socket = await connect()
  const closing = new Deferred<void>()
  log.close = () => closing.promise
  let isClosed = false
  const closed = service.close().finally(() => {
    isClosed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  expect(socket.closed).toEqual([1012, 'restart'])
  closing.reject(new Error('The disk is full.'))
  await expect(closed).rejects.toThrow('The disk is full.')
})

test('`ready` rejects if a part of the service is not ready', async () => {
  const missing = new Error('Install a package.')
  const rateLimit = { ...rateLimiter(), ready: () => Promise.reject(missing) }
  await expect(serviceOf({ rateLimit }).service.ready()).rejects.toBe(missing)
})

test('a service starts as soon as all its parts are ready, even if one failed at first', async () => {
  let isThere = false
  const ready = async () => {
    if (!isThere) throw new Error('Not yet.')
  }
  const { ask } = serviceOf({ rateLimit: { ...rateLimiter(), ready } })
  await expect(ask('bootstrap')).rejects.toThrow('Not yet.')
  isThere = true
  expect((await ask('bootstrap')).status).toBe(200)
})
