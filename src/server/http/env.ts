import type { Context, Hono, MiddlewareHandler } from 'hono'
import type { Logger } from '../../base/logger.ts'
import type { Identity } from './identify.ts'

/** With `admit`, the request is one for a socket, and what is told to it may have one. */
export interface Env {
  Bindings: { readonly admit?: (identity: Identity) => void }
  Variables: {
    identity: Identity
    requestId: string
    /** Says with each line which request it is about. */
    logger: Logger
  }
}

export type App = Hono<Env>

export type AppContext = Context<Env>

export type Middleware = MiddlewareHandler<Env>

/** What can be asked for; all else is `other`, and a preflight is one wherever it goes. */
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
