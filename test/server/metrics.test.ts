import { Counter, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { silentLogger } from '../../src/index.ts'
import { prometheusMetrics } from '../../src/server/index.ts'
import type { LogFault } from '../../src/server/log/log.ts'
import { insert, serviceOf } from './harness.ts'

const asked = (authorization = '') => new Request('https://sync.test/metrics', { headers: { authorization } })

/** The lines of a service's metrics that are no comment. */
async function linesOf({ service }: ReturnType<typeof serviceOf>, authorization?: string) {
  const text = await (await service.fetch(asked(authorization))).text()
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

describe('/metrics', () => {
  test('does not exist by default', async () => {
    expect((await serviceOf().service.fetch(asked())).status).toBe(401)
  })

  test('shows the number and duration of requests, the number of sockets, and the position of the log', async () => {
    const scene = serviceOf({ metrics: prometheusMetrics() })
    const { service, ask, connect } = scene
    await service.write([insert('1'), insert('2')])
    await ask('bootstrap')
    await ask('delta?since=0', { user: '' })
    await ask('delta?since=0')
    await ask('elsewhere?token=secret')
    await ask('delta', { method: 'OPTIONS', user: '', headers: { origin: 'https://app.test' } })
    const socket = await connect()
    await connect('bob')
    await connect('nobody')
    await service.upgrade(new Request('https://sync.test/sync/v1/ws', { method: 'OPTIONS' }))
    const requests = (labels: string, count = 1) => `instep_http_requests_total{${labels}} ${count}`
    const lines = await linesOf(scene)
    expect(lines).toEqual(
      expect.arrayContaining([
        requests('endpoint="bootstrap",status="200"'),
        requests('endpoint="delta",status="401"'),
        requests('endpoint="delta",status="200"'),
        requests('endpoint="other",status="404"'),
        requests('endpoint="preflight",status="204"', 2),
        requests('endpoint="ws",status="101"', 2),
        requests('endpoint="ws",status="401"'),
        'instep_http_request_duration_seconds_count{endpoint="delta"} 2',
        'instep_sockets 2',
        'instep_log_readable 1',
        'instep_log_head 2',
        'instep_log_horizon 0',
      ]),
    )
    expect(lines.join()).not.toContain('secret')
    socket.gone()
    expect(await linesOf(scene)).toContain('instep_sockets 1')
  })

  test('shows what is set aside, until nothing is', async () => {
    const scene = serviceOf({ metrics: prometheusMetrics() })
    const faults: LogFault[] = [
      { type: 'Issue', kind: 'row', count: 3 },
      { type: 'Comment', kind: 'table', count: 1 },
    ]
    Object.assign(scene.log, { faults: () => faults })
    expect(await linesOf(scene)).toEqual(
      expect.arrayContaining([
        'instep_set_aside{type="Issue",kind="row"} 3',
        'instep_set_aside{type="Comment",kind="table"} 1',
      ]),
    )
    faults.length = 0
    expect((await linesOf(scene)).filter((line) => line.startsWith('instep_set_aside'))).toEqual([])
  })

  test('works while the log cannot be read', async () => {
    const scene = serviceOf({ metrics: prometheusMetrics() })
    await scene.service.write([insert('1'), insert('2')])
    await scene.log.trim(1)
    expect(await linesOf(scene)).toEqual(
      expect.arrayContaining(['instep_log_head 2', 'instep_log_horizon 1']),
    )
    scene.log.position = () => Promise.reject(new Error('no'))
    const lines = await linesOf(scene)
    expect(lines).toContain('instep_log_readable 0')
    // A head that falls to 0 would look like a database that was lost.
    expect(lines).toContain('instep_log_head 2')
  })

  test('that fail do not change responses, and are logged', async () => {
    const logged: unknown[] = []
    const logger = { ...silentLogger, error: (...line: unknown[]) => void logged.push(line) }
    const metrics = {
      ...prometheusMetrics(),
      answered() {
        throw new Error('no')
      },
    }
    expect((await serviceOf({ metrics, logger }).ask('bootstrap')).status).toBe(200)
    expect(logged).toEqual([['A response could not be counted.', expect.objectContaining({ reason: 'no' })]])
  })

  test('shows durations in seconds', async () => {
    const metrics = prometheusMetrics()
    await metrics.ready?.()
    metrics.answered({ endpoint: 'delta', status: 200, ms: 250 })
    const shown = await metrics.show(asked(), async () => ({ sockets: 0, log: undefined }))
    const text = await shown.text()
    expect(text).toContain('instep_http_request_duration_seconds_sum{endpoint="delta"} 0.25\n')
    const bounds = [...text.matchAll(/_bucket\{le="(.+?)",endpoint="delta"\}/g)].map(([, bound]) => bound)
    expect(bounds.join()).toBe('0.001,0.005,0.01,0.05,0.1,0.5,1,5,30,+Inf')
  })

  test('count nothing before they are created, and do not affect responses', async () => {
    const metrics = prometheusMetrics()
    metrics.answered({ endpoint: 'delta', status: 200, ms: 250 })
    const shown = await metrics.show(asked(), async () => ({ sockets: 0, log: undefined }))
    expect(await shown.text()).not.toContain('instep_http_requests_total{')
  })

  test('works if the log does not answer, and reads it once for concurrent requests', async () => {
    const scene = serviceOf({ metrics: prometheusMetrics() })
    let reads = 0
    scene.log.position = () => {
      reads += 1
      return new Promise(() => {})
    }
    const shown = Promise.all([linesOf(scene), linesOf(scene)])
    await scene.clock.until(shown)
    for (const lines of await shown) expect(lines).toContain('instep_log_readable 0')
    expect(reads).toBe(1)
  })

  test('requires its token, if it has one, before it reads the database', async () => {
    const scene = serviceOf({ metrics: prometheusMetrics({ token: 'of-the-monitoring' }) })
    const { position } = scene.log
    scene.log.position = () => new Promise(() => {})
    for (const wrong of ['', 'Bearer other', 'Bearer token-of-ann']) {
      const response = await scene.service.fetch(asked(wrong))
      expect(response.status).toBe(401)
      expect(response.headers.get('WWW-Authenticate')).toBe('Bearer')
      expect(response.headers.get('Cache-Control')).toBe('no-store')
    }
    scene.log.position = position
    expect(await linesOf(scene, 'Bearer of-the-monitoring')).toContain('instep_sockets 0')
  })

  test('is not public if its token is empty', () => {
    expect(() => prometheusMetrics({ token: '' })).toThrow(expect.objectContaining({ option: 'token' }))
  })

  test('count for two services that start at the same time', async () => {
    const metrics = prometheusMetrics({ registry: new Registry() })
    const [one, other] = [serviceOf({ metrics }), serviceOf({ metrics })]
    await Promise.all([one.ask('bootstrap'), other.ask('bootstrap')])
    expect(await linesOf(one)).toContain('instep_http_requests_total{endpoint="bootstrap",status="200"} 2')
  })

  test('are created once the cause of a failure is gone', async () => {
    const registry = new Registry()
    const name = 'instep_sockets'
    const other = new Counter({ name, help: 'Of another.', registers: [registry] })
    const metrics = prometheusMetrics({ registry })
    const message = 'The registry already has a metric `instep_sockets`; use another registry.'
    for (let n = 0; n < 2; n += 1) {
      await expect(metrics.ready?.()).rejects.toMatchObject({ option: 'registry', message })
      expect(registry.getMetricsAsArray()).toEqual([other])
    }
    registry.removeSingleMetric(name)
    await metrics.ready?.()
    expect(registry.getMetricsAsArray()).toHaveLength(8)
  })

  test('can have another path, and use the registry of the application', async () => {
    const registry = new Registry()
    new Counter({ name: 'own', help: 'Of the application.', registers: [registry] }).inc()
    const { service } = serviceOf({ metrics: prometheusMetrics({ registry, path: '/internal/metrics' }) })
    const response = await service.fetch(new Request('https://sync.test/internal/metrics'))
    expect(response.headers.get('Content-Type')).toBe(registry.contentType)
    expect(await response.text()).toMatch(/^own 1$/m)
    expect(await registry.metrics()).toContain('instep_sockets')
  })
})
