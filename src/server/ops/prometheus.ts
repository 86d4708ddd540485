import { timingSafeEqual } from 'node:crypto'
import type { Registry } from 'prom-client'
import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { bearerToken } from '../auth/credentials.ts'
import { peer } from '../optional-peer.ts'
import { sha256 } from '../sha256.ts'
import type { Metrics, ResponseInfo, ServiceState } from './metrics.ts'

/** In seconds: from what memory answers in, to what a large snapshot takes to begin. */
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]

export interface PrometheusOptions {
  /** Where they are shown. @default '/metrics' */
  readonly path?: string | undefined
  /** What a request for them carries as its bearer token. @default everybody who reaches the path sees them */
  readonly token?: string
  /** Where they are kept, beside those of the application. @default a registry of their own */
  readonly registry?: Registry | undefined
}

interface Instruments {
  readonly registry: Registry
  answered(answer: ResponseInfo): void
  stand(state: ServiceState): void
}

/** Metrics for Prometheus, by the package `prom-client`. Throws a ConfigurationError for a wrong option. */
export function prometheusMetrics(options: PrometheusOptions = {}): Metrics {
  const { path = '/metrics', token, registry: given } = options
  refuseUnknown(options, { path, token, registry: given })
  if (token === '')
    throw new ConfigurationError('token', '`token` is empty, which anybody has; give one, or leave it out.')
  let making: Promise<Instruments> | undefined
  let made: Instruments | undefined
  // Once, also where two services ask at the same time: a registry takes each name once.
  const make = async () => {
    making ??= makeInstruments(given).catch((error: unknown) => {
      // What it lacks now may be there the next time.
      making = undefined
      throw error
    })
    made = await making
    return made
  }
  return {
    path,
    async ready() {
      await make()
    },
    answered: (answer) => made?.answered(answer),
    async show(request, state) {
      if (token !== undefined && !isSame(bearerToken(request) ?? '', token)) {
        return new Response(null, { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } })
      }
      const { registry, stand } = await make()
      stand(await state())
      return new Response(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } })
    },
  }
}

async function makeInstruments(given: Registry | undefined): Promise<Instruments> {
  const { Counter, Gauge, Histogram, Registry } = await peer('prom-client', () => import('prom-client'))
  const own = new Registry()
  const registers = [own]
  const requests = new Counter({
    name: 'instep_http_requests_total',
    help: 'Requests that were answered.',
    labelNames: ['endpoint', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'instep_http_request_duration_seconds',
    help: 'How long answers took to begin.',
    labelNames: ['endpoint'],
    buckets,
    registers,
  })
  const gauge = (name: string, help: string) => new Gauge({ name: `instep_${name}`, help, registers })
  const sockets = gauge('sockets', 'Sockets that are open in this process.')
  const readable = gauge('log_readable', 'Whether the log can be read: 1, or 0.')
  const head = gauge('log_head', 'The highest sid of the log.')
  const horizon = gauge('log_horizon', 'The sid up to which changes are forgotten.')
  // All, or none.
  const taken = own.getMetricsAsArray().find(({ name }) => given?.getSingleMetric(name))
  if (taken) throw new ConfigurationError('registry', `The registry has a metric \`${taken.name}\` already.`)
  for (const metric of [requests, durations, sockets, readable, head, horizon]) given?.registerMetric(metric)
  return {
    registry: given ?? own,
    answered({ endpoint, status, ms }) {
      requests.inc({ endpoint, status })
      durations.observe({ endpoint }, ms / 1_000)
    },
    stand({ sockets: open, log }) {
      sockets.set(open)
      readable.set(log ? 1 : 0)
      if (!log) return
      head.set(log.head)
      horizon.set(log.horizon)
    },
  }
}

/** Compares in a time that does not tell how much of it is right. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => Buffer.from(sha256(text))
  return timingSafeEqual(digest(one), digest(other))
}
