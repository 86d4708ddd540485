import type { Context, Hono, MiddlewareHandler } from 'hono'
import type { Logger } from '../../base/logger.ts'
import type { Identity } from './identify.ts'

/** With `admit`, the request asks for a socket. If the request may have one, `admit` is called with the caller. */
export interface Env {
  Bindings: { readonly admit?: (identity: Identity) => void }
  Variables: {
    identity: Identity
    requestId: string
    /** Adds the request id to each line. */
    logger: Logger
  }
}

export type App = Hono<Env>

export type AppContext = Context<Env>

export type Middleware = MiddlewareHandler<Env>

/** The endpoints of the service. `endpointOf` names all other paths `other`, and every OPTIONS request `preflight`. */
export type Endpoint = 'bootstrap' | 'delta' | 'ws' | 'tx'

export function endpointOf(c: AppContext, path: string): Endpoint | 'preflight' | 'other' {
  if (c.req.method === 'OPTIONS') return 'preflight'
  switch (c.req.path) {
    case `${path}/bootstrap`:
      return 'bootstrap'
    case `${path}/delta`:
      return 'delta'
    case `${path}/ws`:
      return 'ws'
    case `${path}/tx`:
      return 'tx'
    default:
      return 'other'
  }
}
