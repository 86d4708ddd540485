import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, refuse, withExpiry } from './caller.ts'
import { bearerAuthentication } from './credentials.ts'
import { type CredentialOwner, type IssuerOptions, type SecretIssuer, secretStore } from './secret-issuer.ts'
import { memorySecretTable, type SecretTable } from './secret-table.ts'
import { type RunSql, sqlSecretTable } from './sql-secret-table.ts'

/** A signed-in user, until `expiresAt`. */
export interface Session extends Caller {
  readonly expiresAt: number
}

/**
 * Looks up sessions. Implement it for your application's sign-in, or use {@link memorySessionStore} or
 * {@link sqlSessionStore}.
 */
export interface SessionStore {
  /**
   * Resolves with the session of `token`, or `undefined` for an unknown token. Expired sessions may be returned, and
   * are refused.
   */
  find(token: string): Promise<Session | undefined>
}

export interface SessionOptions {
  readonly store: SessionStore
  readonly clock?: Clock
}

/**
 * Authenticates by an opaque bearer token, which is looked up in a store of sessions. Throws a ConfigurationError for
 * an unknown option.
 */
export function sessionAuthentication(options: SessionOptions): Authenticate {
  const { store, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { store, clock })
  return bearerAuthentication(async (token) => {
    const session = await store.find(token)
    return session ? withExpiry(session, session.expiresAt, clock.now()) : refuse('invalid_token')
  })
}

export interface NewSession extends CredentialOwner {
  readonly expiresAt: number
}

/** A store that also creates and revokes sessions. It stores only hashes of tokens. */
export type IssuingSessionStore = SessionStore & SecretIssuer<NewSession>

/** A session store in memory, which ends with the process. */
export function memorySessionStore(options: IssuerOptions = {}): IssuingSessionStore {
  return sessionStore(memorySecretTable(), options)
}

/** A session store in PostgreSQL, in a table that {@link createAuthTables} creates. */
export function sqlSessionStore(run: RunSql, options: IssuerOptions = {}): IssuingSessionStore {
  return sessionStore(sqlSecretTable(run, 'instep_sessions'), options)
}

function sessionStore(table: SecretTable, options: IssuerOptions): IssuingSessionStore {
  return secretStore<NewSession, Session>(table, options, (row) => {
    const { id, userId, organizationId, owners, expiresAt, active } = row
    if (!active || expiresAt === undefined) return undefined
    return { userId, organizationId, owners, expiresAt, credentialId: id }
  })
}
