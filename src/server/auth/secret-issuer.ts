import { check } from '../../base/check-options.ts'
import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Random } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { areOwners, ownersExpected } from './owners.ts'
import { hasHash, hashOf, makeSecret, printSecret, readSecret } from './secret.ts'
import type { RevokeFilter, SecretRow, SecretTable } from './secret-table.ts'

/** The user to whom a secret belongs. */
export interface CredentialOwner {
  readonly userId: string
  readonly organizationId?: string
  /** The owners whose records the user sees. @default the user or the organization */
  readonly owners?: readonly string[]
  /** When the secret expires, in ms since the epoch. @default never */
  readonly expiresAt?: number
}

export interface IssuedSecret {
  /** The secret that its holder sends. The store keeps only a hash, so the secret cannot be shown again. */
  readonly secret: string
  /** The id for `revoke`; also the `credentialId` of the caller. */
  readonly id: string
}

/** Creates and revokes secrets. */
export interface SecretIssuer<For extends CredentialOwner> {
  /**
   * Creates a secret for `holder`. Rejects with a ConfigurationError if `expiresAt` is not an integer, or `owners` no
   * array of texts.
   */
  create(holder: For): Promise<IssuedSecret>
  /**
   * Revokes the secrets that match all fields of `which`. Open sockets stay: close them with the service's `revoke`.
   * Rejects with a ConfigurationError if `which` has no field.
   */
  revoke(which: RevokeFilter): Promise<void>
  /** Deletes the secrets that expired at `moment` or before, in ms since the epoch. */
  deleteExpired(moment: number): Promise<void>
}

export interface IssuerOptions {
  readonly random?: Random
}

/** Creates a store of secrets in `table`. `read` converts a stored row to the result of `find`. */
export function secretStore<For extends CredentialOwner, Found>(
  table: SecretTable,
  { random = resolveEnvironment().random }: IssuerOptions,
  read: (row: SecretRow) => Found | undefined,
): SecretIssuer<For> & { find(secret: string): Promise<Found | undefined> } {
  return {
    async find(secret) {
      const row = await findSecret(table, secret)
      return row && read(row)
    },
    async create({ userId, organizationId, owners, expiresAt }) {
      if (expiresAt !== undefined && !Number.isSafeInteger(expiresAt)) {
        throw new ConfigurationError('expiresAt', '`expiresAt` must be a whole number of ms since the epoch.')
      }
      if (owners !== undefined) check('owners', owners, [areOwners, ownersExpected])
      const secret = makeSecret(random)
      const { id, proof } = secret
      await table.insert({ id, hash: hashOf(proof), userId, organizationId, owners, expiresAt, active: true })
      return { secret: printSecret(secret), id }
    },
    async revoke(which) {
      const { id, userId, organizationId } = which
      // An empty column of a database arrives as `null`, which would match every secret.
      if ((id ?? userId ?? organizationId ?? undefined) === undefined) {
        throw new ConfigurationError(
          'which',
          'Set `id`, `userId` or `organizationId` to say which secrets to revoke.',
        )
      }
      await table.deactivate(which)
    },
    deleteExpired: (moment) => table.deleteExpired(moment),
  }
}

/** The row of a secret; `undefined` if the secret is malformed, unknown or wrong. */
async function findSecret(table: SecretTable, text: string): Promise<SecretRow | undefined> {
  const secret = readSecret(text)
  const row = secret && (await table.find(secret.id))
  return row && hasHash(secret.proof, row.hash) ? row : undefined
}
