import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, refuse, withExpiry } from './caller.ts'
import { apiKeyOf } from './credentials.ts'
import { type CredentialOwner, type IssuerOptions, type SecretIssuer, secretStore } from './secret-issuer.ts'
import { memorySecretTable, type SecretTable } from './secret-table.ts'
import { type RunSql, sqlSecretTable } from './sql-secret-table.ts'

/** The caller that a key identifies. */
export interface ApiKey extends Caller {
  readonly active: boolean
}

/** Looks up keys. Implement it for your own keys, or use {@link memoryKeyStore} or {@link sqlKeyStore}. */
export interface KeyStore {
  /**
   * Resolves with the owner of `key`, or `undefined` for an unknown key. Inactive and expired keys may be returned, and
   * are refused. An implementation should store no key in plain text, and should compare in a time that does not depend
   * on how much of a key is right.
   */
  find(key: string): Promise<ApiKey | undefined>
}

export interface ApiKeyOptions {
  readonly store: KeyStore
  readonly clock?: Clock
}

/**
 * Authenticates by the header `X-API-Key`, for servers and tests. Throws a ConfigurationError for an unknown option.
 */
export function apiKeyAuthentication(options: ApiKeyOptions): Authenticate {
  const { store, clock = resolveEnvironment().clock } = options
  refuseUnknown(options, { store, clock })
  return async (request) => {
    const key = apiKeyOf(request)
    if (key === undefined) return refuse(request.headers.has('X-API-Key') ? 'invalid_token' : 'no_token')
    const found = await store.find(key)
    if (!found?.active) return refuse('invalid_token')
    const { active: _, ...caller } = found
    // An empty column of a database arrives as `null`.
    const expiresAt = caller.expiresAt ?? undefined
    return expiresAt === undefined ? { ...caller, expiresAt } : withExpiry(caller, expiresAt, clock.now())
  }
}

/** A store that also creates and revokes keys. It stores only hashes of keys. */
export type IssuingKeyStore = KeyStore & SecretIssuer<CredentialOwner>

/** A key store in memory, which ends with the process. */
export function memoryKeyStore(options: IssuerOptions = {}): IssuingKeyStore {
  return keyStore(memorySecretTable(), options)
}

/** A key store in PostgreSQL, in a table that {@link createAuthTables} creates. */
export function sqlKeyStore(run: RunSql, options: IssuerOptions = {}): IssuingKeyStore {
  return keyStore(sqlSecretTable(run, 'instep_api_keys'), options)
}

function keyStore(table: SecretTable, options: IssuerOptions): IssuingKeyStore {
  return secretStore<CredentialOwner, ApiKey>(
    table,
    options,
    ({ id, userId, organizationId, owners, expiresAt, active }) => {
      return { userId, organizationId, owners, expiresAt, active, credentialId: id }
    },
  )
}
