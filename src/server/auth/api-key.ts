import { refuseUnknown } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Clock } from '../../base/environment.ts'
import { type Authenticate, type Caller, endingAt, refuse } from './caller.ts'
import { apiKeyOf } from './credentials.ts'
import { type CredentialOwner, type IssuerOptions, type SecretIssuer, secretStore } from './secret-issuer.ts'
import { memorySecretTable, type SecretTable } from './secret-table.ts'
import { type RunSql, sqlSecretTable } from './sql-secret-table.ts'

/** For whom a key speaks. */
export interface ApiKey extends Caller {
  readonly active: boolean
}

/** Where keys are looked up: the application's own, or one of those below. */
export interface KeyStore {
  /**
   * What is known of `key`; `undefined` where there is none. It is to keep no key as it is sent, and to compare in a
   * time that does not depend on how much of one is right. One that is inactive or has expired may be given, and is
   * refused.
   */
  find(key: string): Promise<ApiKey | undefined>
}

export interface ApiKeyOptions {
  readonly store: KeyStore
  readonly clock?: Clock
}

/**
 * Authenticates by the header `X-API-Key`: for servers and tests. Throws a ConfigurationError for an option that there is
 * not.
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
    // A column that is empty comes as `null`.
    const expiresAt = caller.expiresAt ?? undefined
    return expiresAt === undefined ? { ...caller, expiresAt } : endingAt(caller, expiresAt, clock.now())
  }
}

/** A store that makes the keys too, and keeps their hashes alone. */
export type IssuingKeyStore = KeyStore & SecretIssuer<CredentialOwner>

/** Keys for as long as the process lives. */
export function memoryKeyStore(options: IssuerOptions = {}): IssuingKeyStore {
  return keyStore(memorySecretTable(), options)
}

/** Keys in PostgreSQL, in a table that {@link createAuthTables} makes. */
export function sqlKeyStore(run: RunSql, options: IssuerOptions = {}): IssuingKeyStore {
  return keyStore(sqlSecretTable(run, 'instep_api_keys'), options)
}

function keyStore(table: SecretTable, options: IssuerOptions): IssuingKeyStore {
  return secretStore<CredentialOwner, ApiKey>(
    table,
    options,
    ({ id, userId, organizationId, expiresAt, active }) => {
      return { userId, organizationId, expiresAt, active, credentialId: id }
    },
  )
}
