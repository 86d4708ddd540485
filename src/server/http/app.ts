import type { Clock, Random } from '../../base/environment.ts'
import { isSyncError, toError } from '../../base/errors.ts'
import { featuresOf } from '../../protocol/guards.ts'
import { isObject } from '../../protocol/json.ts'
import { type TxResponse, type TxResult, typeUnavailable } from '../../protocol/tx.ts'
import type { Caller } from '../auth/caller.ts'
import { features } from '../features.ts'
import type { LogRead, Position } from '../log/log.ts'
import { TypeUnavailable } from '../log/type-unavailable.ts'
import type { Metrics } from '../ops/metrics.ts'
import type { RateLimit } from '../ops/rate-limit.ts'
import { loadPeer } from '../optional-peer.ts'
import { methodNotAllowed, pageHeaders, sendFailure, sendJson } from './answer.ts'
import { BodyLimits, type BodyUse } from './body-limits.ts'
import { type DecideOptions, decide } from './decide.ts'
import { type App, type AppContext, type Env, endpointOf } from './env.ts'
import { Failure, tooManyRequests, unavailable } from './failure.ts'
import { health, positionReader } from './health.ts'
import { type IdentifyOptions, identify } from './identify.ts'
import { bodyOf, documentText } from './json-body.ts'
import { limitRate } from './limit-rate.ts'
import { observe } from './observe.ts'
import { parseBody, readBody } from './read-body.ts'
import { readTransactions, type TransactionLimits } from './read-transactions.ts'
import { requestIds } from './request-id.ts'
import { type BeginStream, UserReads } from './user-reads.ts'
import { WaitingOps } from './waiting-ops.ts'

export interface AppOptions extends IdentifyOptions, DecideOptions, TransactionLimits {
  /** The path under which the endpoints are, like `/sync/v1`. */
  readonly path: string
  /** The origins whose pages may call the service; `undefined` allows all. */
  readonly allowedOrigins: readonly string[] | undefined
  /** The maximum length of a request body, in bytes. */
  readonly maxBodyBytes: number
  /** The path that reports whether the service accepts requests; `false` disables it. */
  readonly healthPath: string | false
  /** Returns the name of a caller for responses: the same for all credentials of one user. */
  readonly callerOf: (caller: Caller) => string
  readonly metrics: Metrics | undefined
  readonly rateLimit: RateLimit | undefined
  /** The number of open sockets, of all users or of one. */
  readonly sockets: (userId?: string) => number
  /** The maximum number of open sockets of one user. */
  readonly maxSockets: number
  /** Whether a load balancer should send requests elsewhere. */
  readonly draining: () => boolean
  /** Whether to refuse every request. */
  readonly stopping: () => boolean
  readonly clock: Clock
  readonly random: Random
}

const methods = { bootstrap: 'GET, POST', delta: 'GET', ws: 'GET', tx: 'POST' }

/** Creates the endpoints. The request for a socket passes through the same checks as every other request. */
export async function createApp(options: AppOptions): Promise<App> {
  const { log, path, allowedOrigins, epochOf, callerOf, healthPath, metrics, rateLimit } = options
  const { Hono, compress, cors } = await loadHono()
  await Promise.all([metrics?.ready?.(), rateLimit?.ready?.()])
  const app: App = new Hono<Env>()

  app.onError((error, c) => {
    const logError = () =>
      c.var.logger.error('A request failed.', { path: c.req.path, reason: error.message })
    if (error instanceof Failure) {
      if (error.status === 500) logError()
      return sendFailure(c, error)
    }
    if (options.stopping() || (isSyncError(error) && error.retryable)) {
      c.var.logger.warn('A request cannot be answered now.', { path: c.req.path, reason: error.message })
      return sendFailure(c, unavailable('The data is not available at the moment.', 5))
    }
    logError()
    return sendFailure(c, new Failure(500, 'internal', 'The service failed to answer; its log says why.'))
  })
  const advice = `Nothing is at this path. The \`path\` of the service is '${path}'.`
  app.notFound((c) => sendFailure(c, new Failure(404, 'not_found', advice)))

  app.use(requestIds(options))
  app.use(async (c, next) => {
    c.header('Cache-Control', 'no-store')
    await next()
  })
  const position = positionReader(log, options.clock)
  if (healthPath !== false) app.get(healthPath, health({ ...options, position }))
  if (metrics) {
    app.get(metrics.path, async (c) => {
      const state = async () => ({
        sockets: options.sockets(),
        log: await position().catch(() => undefined),
        faults: log.faults?.() ?? [],
      })
      const shown = await metrics.show(c.req.raw, state)
      return c.newResponse(shown.body, shown)
    })
  }
  app.use(observe(options))
  app.use(
    cors({
      origin: allowedOrigins ? [...allowedOrigins] : '*',
      allowMethods: ['GET', 'POST'],
      allowHeaders: pageHeaders,
      exposeHeaders: ['Retry-After', 'X-Request-Id'],
      maxAge: 7_200,
    }),
  )
  app.use(async (c, next) => {
    if (options.stopping()) throw unavailable('The service is stopping.', 1)
    c.set('identity', await identify(c.req.raw, { ...options, logger: c.var.logger }))
    await next()
  })
  if (rateLimit) app.use(limitRate({ path, limit: rateLimit }))
  app.use(async (c, next) => {
    const endpoint = endpointOf(c, path)
    if (c.env?.admit && endpoint !== 'ws') return c.notFound()
    // Hono answers HEAD by running GET without reading the body, which would leave the log's read open.
    if (c.req.method !== 'HEAD') return next()
    if (endpoint === 'other' || endpoint === 'preflight') return c.notFound()
    throw methodNotAllowed(methods[endpoint])
  })

  const send = async (
    c: AppContext,
    read: LogRead,
    list: string,
    head: Readonly<Record<string, unknown>>,
    begin: BeginStream,
  ) => {
    const { caller, owners } = c.var.identity
    const names = { epoch: epochOf(read.history, owners), caller: callerOf(caller) }
    const failed = (error: unknown) => {
      c.var.logger.error('A response was broken off.', { path: c.req.path, reason: toError(error).message })
    }
    const document = documentText({ sid: read.head, ...names, ...head }, list, read.batches)
    const body = await bodyOf(document, failed, begin)
    return sendJson(c, 200, body)
  }

  const userReads = new UserReads(options.clock)
  const reading = (c: AppContext, begin: (beginStream: BeginStream) => Promise<Response>) =>
    userReads.run(c.var.identity.caller.userId, c.req.raw.signal, begin)

  // Browsers send a page's request with the user's cookies, whatever the page's origin. CORS only prevents that the
  // page reads the response, so requests that have an effect are refused here.
  const refuseForeign = (c: AppContext) => {
    const origin = c.req.header('Origin')
    if (allowedOrigins && origin !== undefined && !allowedOrigins.includes(origin)) {
      c.var.logger.warn('A request was refused because of its origin.', { path: c.req.path, origin })
      throw new Failure(
        403,
        'bad_origin',
        'Pages of this origin may not open sockets or write; add the origin to `allowedOrigins`.',
      )
    }
  }

  app.use(`${path}/bootstrap`, compress({ encoding: 'gzip' }))
  app.on(['GET', 'POST'], `${path}/bootstrap`, async (c) => {
    return reading(c, async (begin) => {
      const snapshot = await log.snapshot(c.var.identity.owners, c.var.identity.caller.userId)
      return send(c, snapshot, 'rows', { count: snapshot.count, lines: true }, begin)
    })
  })

  app.use(`${path}/delta`, compress({ encoding: 'gzip' }))
  app.get(`${path}/delta`, async (c) => {
    const since = readSince(c.req.query('since'))
    return reading(c, async (begin) => {
      const delta = await log.delta(c.var.identity.owners, since, c.var.identity.caller.userId)
      if (since >= delta.horizon && !delta.isTooMany) return send(c, delta, 'frames', {}, begin)
      throw delta.isTooMany
        ? new Failure(410, 'too_many_changes', 'Too many changes have come since then; fetch a bootstrap.')
        : new Failure(
            410,
            'below_horizon',
            'The service no longer has the changes since then; fetch a bootstrap.',
          )
    })
  })

  app.get(`${path}/ws`, (c) => {
    if (!c.env?.admit)
      throw new Failure(
        426,
        'upgrade_required',
        'This endpoint opens a WebSocket and needs an upgrade request.',
        { Upgrade: 'websocket' },
      )
    refuseForeign(c)
    if (options.sockets(c.var.identity.caller.userId) >= options.maxSockets) {
      throw tooManyRequests(`This user has ${options.maxSockets} open sockets, which is the most.`, 30)
    }
    c.env.admit(c.var.identity)
    return c.body(null, 204)
  })

  const bodyLimits = new BodyLimits(options.maxBodyBytes, options.clock)
  const waiting = new WaitingOps()
  app.post(`${path}/tx`, async (c) => {
    refuseForeign(c)
    return bodyLimits.run(c.var.identity.caller.userId, async ({ reserve, inTurn }: BodyUse) => {
      const bytes = await readBody(c.req.raw, {
        maxBytes: options.maxBodyBytes,
        reserve,
        clock: options.clock,
      })
      return inTurn(() => transact(c, bytes))
    })
  })
  const transact = async (c: AppContext, bytes: Uint8Array) => {
    const request = parseBody(bytes)
    const txs = readTransactions(request, options)
    const knowsUnavailable = featuresOf(isObject(request) ? request : {}).features?.includes(typeUnavailable)
    let current: Promise<Position> | undefined
    const history = async () => {
      current ??= log.position()
      return (await current).history
    }
    const context = { ...options, logger: c.var.logger, history }
    const { caller, owners } = c.var.identity
    const results: TxResult[] = []
    await waiting.during(caller.userId, txs, async () => {
      // In order: a transaction may require an earlier one of the same request.
      const undecided = new Map<string, TypeUnavailable>()
      for (const tx of txs) {
        const required = tx.requires?.find((id) => undecided.has(id))
        const decided =
          (required !== undefined && undecided.get(required)) || (await decide(tx, c.var.identity, context))
        if (!(decided instanceof TypeUnavailable)) {
          results.push({ id: tx.id, ...decided })
          continue
        }
        if (!knowsUnavailable) throw unavailable(decided.message, decided.retryAfter)
        undecided.set(tx.id, decided)
        const { message, retryAfter } = decided
        results.push({ id: tx.id, error: { code: typeUnavailable, message }, retryAfter })
      }
    })
    const end = await log.position()
    const names = { epoch: epochOf(end.history, owners), caller: callerOf(caller) }
    const answer: TxResponse = { sid: end.head, ...names, features, results }
    return sendJson(c, 200, new TextEncoder().encode(JSON.stringify(answer)))
  }

  for (const [endpoint, allowed] of Object.entries(methods)) {
    app.all(`${path}/${endpoint}`, () => {
      throw methodNotAllowed(allowed)
    })
  }
  return app
}

function loadHono() {
  return loadPeer('hono', async () => {
    const [{ Hono }, { compress }, { cors }] = await Promise.all([
      import('hono'),
      import('hono/compress'),
      import('hono/cors'),
    ])
    return { Hono, compress, cors }
  })
}

/** Parses the position of a delta request. Throws a {@link Failure} if it is invalid. */
function readSince(text: string | undefined): number {
  const since = Number(text)
  if (text !== undefined && /^\d+$/.test(text) && Number.isSafeInteger(since)) return since
  throw new Failure(400, 'bad_since', 'The query parameter `since` must be an integer from 0 to 2^53 - 1.')
}
