import { describe, expect, test } from 'vitest'
import { FakeSocket, requestTo, serviceOf } from './harness.ts'

const asked = (path = '/healthz', method = 'GET') => new Request(`https://sync.test${path}`, { method })

describe('/healthz', () => {
  test('needs no credentials, and reveals only that the service accepts requests', async () => {
    const { service } = serviceOf()
    const response = await service.fetch(asked())
    expect(response.status).toBe(200)
    expect(response.headers.get('Cache-Control')).toBe('no-store')
    expect(await response.text()).toBe('{"status":"ok"}')
    expect((await service.fetch(asked('/healthz', 'HEAD'))).status).toBe(200)
  })

  test('answers 503 while the service drains, and all other requests still work', async () => {
    const { service, ask } = serviceOf()
    service.drain()
    const response = await service.fetch(asked())
    expect(response.status).toBe(503)
    expect(response.headers.get('Retry-After')).toBe('1')
    expect((await ask('bootstrap')).status).toBe(200)
    const socket = new FakeSocket()
    await service.connect(socket, requestTo('ws', 'ann'))
    expect(socket.closed).toBeUndefined()
  })

  test('answers 503 after the service is closed', async () => {
    const { service } = serviceOf()
    await service.close()
    expect((await service.fetch(asked())).status).toBe(503)
  })

  test('answers 503 without a reason while the log cannot be read', async () => {
    const { service, log, lines } = serviceOf()
    const { position } = log
    log.position = () => Promise.reject(new Error('password of postgres'))
    const response = await service.fetch(asked())
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('postgres')
    expect(lines.join()).toContain('The database cannot be used.')
    log.position = position
    expect((await service.fetch(asked())).status).toBe(200)
  })

  test('answers 503 if the log does not answer within 2 s, and reads the log once for concurrent requests', async () => {
    const { service, log, clock } = serviceOf()
    let reads = 0
    log.position = () => {
      reads += 1
      return new Promise(() => {})
    }
    const answers = Promise.all([service.fetch(asked()), service.fetch(asked())])
    const began = clock.now()
    await clock.until(answers)
    expect(clock.now() - began).toBe(2_000)
    expect((await answers).map(({ status }) => status)).toEqual([503, 503])
    expect(reads).toBe(1)
  })

  test('can have another path, or none', async () => {
    const moved = serviceOf({ healthPath: '/sync/health' }).service
    expect((await moved.fetch(asked('/sync/health'))).status).toBe(200)
    expect((await moved.fetch(asked())).status).toBe(401)
    const { service } = serviceOf({ healthPath: false })
    expect((await service.fetch(asked())).status).toBe(401)
    expect(() => serviceOf({ healthPath: 'healthz' })).toThrow('`healthPath`')
  })
})
