import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, endingAt, refuse } from './caller.ts'
import { bearerAuthentication } from './credentials.ts'
import { type CredentialOwner, type IssuerOptions, type SecretIssuer, secretStore } from './secret-issuer.ts'
import { memorySecretTable, type SecretTable } from './secret-table.ts'
import { type RunSql, sqlSecretTable } from './sql-secret-table.ts'

/** Who is signed in, and until when. */
export interface Session extends Caller {
  readonly expiresAt: number
}

/** Where sessions are looked up: that of the application's sign-in, or one of those below. */
export interface SessionStore {
  /** The session of `token`; `undefined` where there is none. One that has expired may be given, and is refused. */
  find(token: string): Promise<Session | undefined>
}

export interface SessionOptions {
  readonly store: SessionStore
  readonly clock?: Clock
}

/**
 * Authenticates by an opaque token that is looked up in a store of sessions. Throws a ConfigurationError for an option that
 * there is not.
 */
export function sessionAuthentication(options: SessionOptions): Authenticate {
  const { store, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { store, clock })
  return bearerAuthentication(async (token) => {
    const session = await store.find(token)
    return session ? endingAt(session, session.expiresAt, clock.now()) : refuse('invalid_token')
  })
}

export interface NewSession extends CredentialOwner {
  readonly expiresAt: number
}

/** A store that makes the tokens too, and keeps their hashes alone. */
export type IssuingSessionStore = SessionStore & SecretIssuer<NewSession>

/** Sessions for as long as the process lives. */
export function memorySessionStore(options: IssuerOptions = {}): IssuingSessionStore {
  return sessionStore(memorySecretTable(), options)
}

/** Sessions in PostgreSQL, in a table that {@link createAuthTables} makes. */
export function sqlSessionStore(run: RunSql, options: IssuerOptions = {}): IssuingSessionStore {
  return sessionStore(sqlSecretTable(run, 'instep_sessions'), options)
}

function sessionStore(table: SecretTable, options: IssuerOptions): IssuingSessionStore {
  return secretStore<NewSession, Session>(table, options, (row) => {
    const { id, userId, organizationId, expiresAt, active } = row
    if (!active || expiresAt === undefined) return undefined
    return { userId, organizationId, expiresAt, credentialId: id }
  })
}
