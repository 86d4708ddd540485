import { expect, test } from 'vitest'
import { Deferred } from '../../src/base/deferred.ts'
import { rateLimiter } from '../../src/server/index.ts'
import { serviceOf } from './harness.ts'

test('a service is closed once its log is, and not where that fails; its sockets are at once', async () => {
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

test('it is not ready where a part of it cannot be', async () => {
  const missing = new Error('Install a package.')
  const rateLimit = { ...rateLimiter(), ready: () => Promise.reject(missing) }
  await expect(serviceOf({ rateLimit }).service.ready()).rejects.toBe(missing)
})

test('it begins as soon as all its parts can, though one of them could not at first', async () => {
  let isThere = false
  const ready = async () => {
    if (!isThere) throw new Error('Not yet.')
  }
  const { ask } = serviceOf({ rateLimit: { ...rateLimiter(), ready } })
  await expect(ask('bootstrap')).rejects.toThrow('Not yet.')
  isThere = true
  expect((await ask('bootstrap')).status).toBe(200)
})
