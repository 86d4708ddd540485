import type { Logger } from '../../base/logger.ts'
import { resolveWorld } from '../../base/world.default.ts'
import { jwtAuthentication } from '../../server/auth/jwt.ts'
import { createSyncService } from '../../server/create-sync-service.ts'
import { prometheusMetrics } from '../../server/ops/prometheus.ts'
import { type Rate, rateLimiter } from '../../server/ops/rate-limiter.ts'
import { type Served, type ServeOptions, serve } from '../../server/serve.ts'
import type { SyncService } from '../../server/service.ts'
import type { Command } from '../command.ts'
import { databaseIn, databaseOption, openLog } from '../database.ts'
import { CommandError, codeOf, UsageError } from '../failure.ts'
import { loggerIn, logOptions } from '../log.ts'
import { secretNote, secretsIn } from '../secret.ts'
import type { Settings } from '../settings.ts'
import type { Shell } from '../shell.ts'
import { durationOf } from '../units.ts'

export const serveHttp: Command = {
  name: 'serve',
  about: 'Serves a database over HTTP and WebSocket until it is told to end.',
  options: {
    database: databaseOption,
    host: { about: 'The address to listen on (127.0.0.1)', value: 'address' },
    port: { about: 'The port to listen on; 0 takes one that is free (8080)', value: 'number' },
    'owner-field': {
      about: 'The field of a record that names its owner (userId)',
      value: 'userId|organizationId',
    },
    'allowed-origins': { about: 'Whose pages may call and connect, between commas (all)', value: 'origins' },
    'keep-changes': {
      about: 'How long changes are kept; a client that was away for longer fetches a snapshot (for ever)',
      value: 'time',
    },
    'rate-limit': {
      about: 'How many requests a user may make, as in 100/1m (no limit)',
      value: 'count/time',
    },
    metrics: { about: 'Tells at /metrics what happens, for Prometheus; needs the package prom-client' },
    drain: {
      about: 'How long, when it is told to end, /healthz says so before it no longer listens (0s)',
      value: 'time',
    },
    grace: { about: 'How long requests and sockets have to end (2s)', value: 'time' },
    ...logOptions,
    config: { about: 'A JSON file with any of these options', value: 'file' },
  },
  notes: [
    secretNote,
    'INSTEP_METRICS_TOKEN, where it is set, is what /metrics asks for as a bearer token.',
    'Each option may also stand in the environment, as in INSTEP_OWNER_FIELD, or in the file, as in ownerField.',
  ],
  async run(settings, shell) {
    const { clock } = resolveWorld()
    const logger = await loggerIn(settings, shell)
    const drainMs = settings.duration('drain') ?? 0
    const address = { ...addressIn(settings), logger }
    const service = await serviceOf(settings, shell, logger)
    try {
      const served = await listen(service, address)
      shell.stdout.write(`listening on ${served.url}\n`)
      await untilToldToEnd(shell)
      service.drain()
      await new Promise<void>((resolve) => clock.after(drainMs, resolve))
      await served.close()
    } finally {
      await service.close()
    }
  },
}

function addressIn(settings: Settings): ServeOptions {
  const graceMs = settings.duration('grace')
  return {
    host: settings.text('host') ?? '127.0.0.1',
    port: settings.integer('port', 0, 65_535) ?? 8_080,
    ...(graceMs === undefined ? undefined : { graceMs }),
  }
}

async function serviceOf(settings: Settings, { env }: Shell, logger: Logger): Promise<SyncService> {
  const secret = secretsIn(env)
  const name = databaseIn(settings)
  const allowedOrigins = settings.list('allowed-origins')
  const maxAgeMs = settings.duration('keep-changes')
  const rate = rateIn(settings)
  const token = env.INSTEP_METRICS_TOKEN
  const options = {
    authenticate: jwtAuthentication({ secret }),
    ownerField: settings.oneOf('owner-field', ['userId', 'organizationId']) ?? 'userId',
    logger,
    ...(allowedOrigins && { allowedOrigins }),
    ...(rate && { rateLimit: rateLimiter(rate) }),
    ...(settings.flag('metrics') && { metrics: prometheusMetrics(token ? { token } : {}) }),
  }
  const retention = maxAgeMs === undefined ? undefined : { retention: { maxAgeMs } }
  const database = name === 'memory:' ? name : await openLog(name, { logger, ...retention })
  return createSyncService({ ...options, database })
}

function rateIn(settings: Settings): Rate | undefined {
  const text = settings.text('rate-limit')
  if (text === undefined) return undefined
  const [, count, time = ''] = /^(\d+)\/(\w+)$/.exec(text) ?? []
  const requests = Number(count)
  const windowMs = durationOf(time) ?? 0
  if (requests > 0 && windowMs >= 1_000) return { requests, windowMs }
  throw new UsageError('`--rate-limit` is to be a number and a time of 1s or more, as in `100/1m`.')
}

/** Rejects with one sentence where the address cannot be had. */
async function listen(service: SyncService, options: ServeOptions): Promise<Served> {
  try {
    return await serve(service, options)
  } catch (error) {
    const { host, port } = options
    switch (codeOf(error)) {
      case 'EADDRINUSE':
        throw new CommandError(
          `The port ${port} of ${host} is in use; choose another by \`--port\`, or 0 for any.`,
        )
      case 'EACCES':
        throw new CommandError(`This user may not listen on the port ${port}; choose one above 1023.`)
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        throw new CommandError(`\`${host}\` is no address of this machine; choose another by \`--host\`.`)
      default:
        throw error
    }
  }
}

/** Resolves at the first signal; the second one ends the process at once. */
function untilToldToEnd({ onEnd, exit }: Shell): Promise<void> {
  return new Promise((resolve) => {
    const undo = onEnd(() => {
      undo()
      onEnd(() => exit(1))
      resolve()
    })
  })
}
