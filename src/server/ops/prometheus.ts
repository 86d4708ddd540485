import { timingSafeEqual } from 'node:crypto'
import type { Registry } from 'prom-client'
import { refuseUnknown } from '../../base/check-options.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { bearerToken } from '../auth/credentials.ts'
import { loadPeer } from '../optional-peer.ts'
import { sha256 } from '../sha256.ts'
import type { Metrics, ResponseInfo, ServiceState } from './metrics.ts'

/** In seconds, from a response out of memory to the start of a large snapshot. */
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]

/** The part of a `Registry` of `prom-client` that the metrics use. An application without that package can be compiled. */
export interface PrometheusRegistry {
  readonly contentType: string
  metrics(): Promise<string>
  getSingleMetric(name: string): unknown
  /** @param metric a metric of `prom-client` */
  registerMetric(metric: never): void
}

export interface PrometheusOptions {
  /** The path that shows the metrics. @default '/metrics' */
  readonly path?: string | undefined
  /** The bearer token that a request for the metrics needs. @default everybody who can reach the path may read them */
  readonly token?: string
  /** The `Registry` of `prom-client` to add the metrics to. @default a new one */
  readonly registry?: PrometheusRegistry | undefined
}

interface Instruments {
  readonly registry: PrometheusRegistry
  answered(answer: ResponseInfo): void
  update(state: ServiceState): void
}

/** Metrics for Prometheus. Needs the package `prom-client`. Throws a ConfigurationError for an invalid option. */
export function prometheusMetrics(options: PrometheusOptions = {}): Metrics {
  const { path = '/metrics', token, registry: target } = options
  refuseUnknown(options, { path, token, registry: target })
  if (token === '') throw new ConfigurationError('token', '`token` is empty. Set a token, or leave it out.')
  let making: Promise<Instruments> | undefined
  let made: Instruments | undefined
  // Created once, even if two services ask at the same time: a registry accepts each name once.
  const make = async () => {
    making ??= makeInstruments(target).catch((error: unknown) => {
      // Try again with the next request: a missing package may be installed meanwhile.
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
      const { registry, update } = await make()
      update(await state())
      return new Response(await registry.metrics(), { headers: { 'Content-Type': registry.contentType } })
    },
  }
}

async function makeInstruments(given: PrometheusRegistry | undefined): Promise<Instruments> {
  const target = given as Registry | undefined
  const { Counter, Gauge, Histogram, Registry } = await loadPeer('prom-client', () => import('prom-client'))
  const ownRegistry = new Registry()
  const registers = [ownRegistry]
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
  const writable = gauge('log_writable', 'Whether the database had room for the last write: 1, or 0.')
  const head = gauge('log_head', 'The highest sid of the log.')
  const horizon = gauge('log_horizon', 'The sid up to which changes are forgotten.')
  const aside = new Gauge({
    name: 'instep_set_aside',
    help: 'What is set aside: 1 for a table or its writes, or the number of rows.',
    labelNames: ['type', 'kind'],
    registers,
  })
  // Register all metrics or none of them.
  const taken = ownRegistry.getMetricsAsArray().find(({ name }) => target?.getSingleMetric(name))
  if (taken)
    throw new ConfigurationError(
      'registry',
      `The registry already has a metric \`${taken.name}\`; use another registry.`,
    )
  for (const metric of [requests, durations, sockets, readable, writable, head, horizon])
    target?.registerMetric(metric)
  target?.registerMetric(aside)
  return {
    registry: target ?? ownRegistry,
    answered({ endpoint, status, ms }) {
      requests.inc({ endpoint, status })
      durations.observe({ endpoint }, ms / 1_000)
    },
    update({ sockets: open, log, faults = [] }) {
      sockets.set(open)
      aside.reset()
      writable.set(1)
      for (const fault of faults) {
        if (fault.kind === 'full') writable.set(0)
        else aside.set({ type: fault.type, kind: fault.kind }, fault.count)
      }
      readable.set(log ? 1 : 0)
      if (!log) return
      head.set(log.head)
      horizon.set(log.horizon)
    },
  }
}

/** Compares in constant time, so that the duration reveals nothing about the token. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => Buffer.from(sha256(text))
  return timingSafeEqual(digest(a), digest(b))
}
