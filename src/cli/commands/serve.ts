import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Logger } from '../../base/logger.ts'
import { createSyncService } from '../../server/create-sync-service.ts'
import { minVerdictAgeMs } from '../../server/log/retention.ts'
import { prometheusMetrics } from '../../server/ops/prometheus.ts'
import { maxWindowMs, type Rate, rateLimiter } from '../../server/ops/rate-limiter.ts'
import { isOrigin, originExpected } from '../../server/options.ts'
import type { SyncService } from '../../server/service.ts'
import { authenticationIn, authenticationOptions } from '../authentication.ts'
import type { Command } from '../command.ts'
import { databaseIn, databaseOption, openLog } from '../database.ts'
import { UsageError } from '../failure.ts'
import { addressIn, addressOptions, listen, untilSignal } from '../listen.ts'
import { loggerIn, logOptions } from '../log.ts'
import { maxRecordBytesIn, maxRecordBytesOption } from '../max-record-bytes.ts'
import { ownerFieldIn, ownerFieldOption } from '../owner-field.ts'
import { secretNote, secretVariables } from '../secret.ts'
import { configOption, nonEmpty, type Settings } from '../settings.ts'
import type { Shell } from '../shell.ts'
import { durationOf } from '../units.ts'
import { unknownVariables } from '../unknown-variables.ts'

const metricsToken = 'INSTEP_METRICS_TOKEN'

export const serveHttp: Command = {
  name: 'serve',
  about: 'Serves a database over HTTP and WebSocket until SIGTERM or SIGINT.',
  options: {
    database: databaseOption,
    ...addressOptions,
    'owner-field': ownerFieldOption,
    ...authenticationOptions,
    'allowed-origins': {
      about: 'The origins whose pages may call the service, separated by commas (all)',
      value: 'origins',
    },
    'keep-changes': {
      about: 'How long changes are kept; a client that was away for longer fetches a snapshot (forever)',
      value: 'time',
    },
    'keep-verdicts': {
      about:
        'How long results of transactions are kept; a transaction that was unsent for longer is refused (forever)',
      value: 'time',
    },
    'max-record-bytes': maxRecordBytesOption,
    'rate-limit': {
      about: 'How many requests a user may send in a time, as in 100/1m (no limit)',
      value: 'count/time',
    },
    metrics: { about: 'Shows metrics for Prometheus at /metrics; needs the package prom-client' },
    drain: {
      about: 'How long /healthz answers 503 after a signal to end, before listening stops (0s)',
      value: 'time',
    },
    grace: { about: 'How long to wait for requests and sockets to end (2s)', value: 'time' },
    ...logOptions,
    config: configOption,
  },
  notes: [
    secretNote,
    `If ${metricsToken} is set in the environment, /metrics requires it as a bearer token.`,
    'Each option may also be set in the environment, as in INSTEP_OWNER_FIELD, or in the file, as in ownerField.\n' +
      'Only the file can have `tables`: the tables of the application that `instep attach` has attached.',
  ],
  async run(settings, shell) {
    const { clock } = resolveEnvironment()
    // Listen from the start: a signal does not end the first process of a container unless the process listens for it.
    const ending = untilSignal(shell)
    const logger = await loggerIn(settings, shell)
    const known = [...settings.variables, ...secretVariables, metricsToken]
    for (const sentence of unknownVariables(shell.env, known)) logger.warn(sentence)
    const drainMs = settings.duration('drain') ?? 0
    const graceMs = settings.duration('grace')
    const address = { ...addressIn(settings), logger, ...(graceMs !== undefined && { graceMs }) }
    const opening = serviceOf(settings, shell, logger)
    const service = await Promise.race([ending, opening])
    if (!service) {
      // Do not wait: opening may take long, and the process may end meanwhile.
      opening.then((late) => late.close()).catch(() => {})
      return
    }
    try {
      const served = await listen(service, address)
      shell.stdout.write(`listening on ${served.url}\n`)
      await ending
      service.drain()
      await new Promise<void>((resolve) => clock.after(drainMs, resolve))
      await served.close()
    } finally {
      await service.close()
    }
  },
}

async function serviceOf(settings: Settings, { env }: Shell, logger: Logger): Promise<SyncService> {
  const authenticate = await authenticationIn(settings, env)
  const name = databaseIn(settings)
  const allowedOrigins = settings.list('allowed-origins')
  if (allowedOrigins && !allowedOrigins.every(isOrigin)) {
    throw new UsageError(`\`--allowed-origins\` must be ${originExpected}.`)
  }
  const maxAgeMs = settings.duration('keep-changes')
  const maxVerdictAgeMs = settings.duration('keep-verdicts')
  if (maxVerdictAgeMs !== undefined && maxVerdictAgeMs < minVerdictAgeMs) {
    throw new UsageError('`--keep-verdicts` must be 1h or more, as in `90d`.')
  }
  const rate = rateIn(settings)
  const token = nonEmpty(metricsToken, env[metricsToken])
  const options = {
    authenticate,
    ownerField: ownerFieldIn(settings),
    maxRecordBytes: maxRecordBytesIn(settings),
    logger,
    ...(allowedOrigins && { allowedOrigins }),
    ...(rate && { rateLimit: rateLimiter(rate) }),
    ...(settings.flag('metrics') && { metrics: prometheusMetrics(token ? { token } : {}) }),
  }
  const retention = { maxAgeMs, maxVerdictAgeMs }
  const { tables } = settings
  if (name === 'memory:') return createSyncService({ ...options, database: name, retention, tables })
  return createSyncService({ ...options, database: await openLog(name, { logger, retention, tables }) })
}

function rateIn(settings: Settings): Rate | undefined {
  const text = settings.text('rate-limit')
  if (text === undefined) return undefined
  const [, count, time = ''] = /^(\d+)\/(\w+)$/.exec(text) ?? []
  const requests = Number(count)
  const windowMs = durationOf(time) ?? 0
  if (requests > 0 && windowMs >= 1_000 && windowMs <= maxWindowMs) return { requests, windowMs }
  throw new UsageError('`--rate-limit` must be a number and a time from 1s to 24d, as in `100/1m`.')
}
