import { expect, test } from 'vitest'
import { ConfigurationError, NetworkError } from '../../src/base/errors.ts'
import { requestTo, serviceOf } from './harness.ts'

test.each([
  ['GET', 'elsewhere', 404, 'not_found'],
  ['DELETE', 'bootstrap', 405, 'method_not_allowed'],
  ['POST', 'delta?since=0', 405, 'method_not_allowed'],
  ['GET', 'tx', 405, 'method_not_allowed'],
  ['GET', 'ws', 426, 'upgrade_required'],
  ['POST', 'tx', 400, 'bad_request'],
])('%s %s is answered with %i and a reason', async (method, path, status, code) => {
  const { ask } = serviceOf()
  const response = await ask(path, { method })
  expect(response.status).toBe(status)
  expect(await response.json()).toEqual({ error: { code, message: expect.any(String) } })
})

test.each([
  ['bootstrap', 405, 'GET, POST'],
  ['delta?since=0', 405, 'GET'],
  ['ws', 405, 'GET'],
  ['tx', 405, 'POST'],
  ['elsewhere', 404, null],
])(
  'a HEAD of %s is refused like any other wrong method (%i), so that no read stays open',
  async (path, status, allowed) => {
    const { ask, log } = serviceOf()
    log.snapshot = () => Promise.reject(new Error('A read was begun.'))
    for (const method of ['HEAD', 'DELETE']) {
      const response = await ask(path, { method })
      expect([method, response.status, response.headers.get('Allow')]).toEqual([method, status, allowed])
      expect((await ask(path, { method, user: '' })).status).toBe(401)
    }
  },
)

test('an upgrade at an unknown path is refused like any other request there', async () => {
  const { service } = serviceOf()
  const upgrade = async (path: string, user: string) => {
    const answer = await service.upgrade(requestTo(path, user))
    return answer instanceof Response ? answer.status : undefined
  }
  expect(await upgrade('elsewhere', '')).toBe(401)
  expect(await upgrade('elsewhere', 'ann')).toBe(404)
  expect(await upgrade('bootstrap', 'ann')).toBe(404)
})

test('the response at an unknown path says where the endpoints are', async () => {
  const { service } = serviceOf({ path: '/api' })
  const response = await service.fetch(requestTo('delta?since=0', 'ann'))
  const message = "Nothing is at this path. The `path` of the service is '/api'."
  expect(await response.json()).toEqual({ error: { code: 'not_found', message } })
})

test('the option `path` sets where the endpoints are', async () => {
  const { service } = serviceOf({ path: '/api' })
  const headers = { authorization: 'Bearer token-of-ann' }
  expect((await service.fetch(new Request('http://h/api/bootstrap', { headers }))).status).toBe(200)
  expect((await service.fetch(new Request('http://h/sync/v1/bootstrap', { headers }))).status).toBe(404)
})

test('after `close`, requests and sockets get 503', async () => {
  const { service, ask, connect } = serviceOf()
  await service.close()
  const response = await ask('bootstrap')
  expect(response.status).toBe(503)
  expect(response.headers.get('Retry-After')).toBe('1')
  expect((await connect()).closed).toEqual([1012, 'unavailable'])
})

test('an internal error is logged, and the response does not quote it', async () => {
  const { log, ask, lines } = serviceOf()
  log.snapshot = () => Promise.reject(new Error('disk /dev/sda is full'))
  const response = await ask('bootstrap')
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('sda')
  expect(lines.join()).toContain('disk /dev/sda is full')
})

test('a temporary failure of the log is answered with 503 and a wait of 5 s', async () => {
  const { log, ask } = serviceOf()
  log.snapshot = () => Promise.reject(new NetworkError('unreachable', 'It is away.'))
  const response = await ask('bootstrap')
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '5'])
  expect((await response.json()).error.code).toBe('unavailable')
})

test('a failure of the log that needs another setup is answered as a fault, without a wait', async () => {
  const { log, ask, lines } = serviceOf()
  log.snapshot = () => Promise.reject(new ConfigurationError('database', 'The folder is in use.'))
  const response = await ask('bootstrap')
  expect([response.status, response.headers.get('Retry-After')]).toEqual([500, null])
  expect(lines.join()).toContain('The folder is in use.')
})

test('a request that fails because the service has closed meanwhile is not logged as a fault', async () => {
  const { service, log, ask, lines } = serviceOf()
  log.snapshot = async () => {
    await service.close()
    throw new Error('The driver is destroyed.')
  }
  expect((await ask('bootstrap')).status).toBe(503)
  expect(lines.join()).not.toContain('A request failed.')
})
