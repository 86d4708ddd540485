import { resolveEnvironment } from '../../base/environment.default.ts'
import type { Random } from '../../base/environment.ts'
import { ConfigurationError } from '../../base/errors.ts'
import { hashOf, makeSecret, printSecret, proves, readSecret } from './secret.ts'
import type { RevokeFilter, SecretRow, SecretTable } from './secret-table.ts'

/** Whom a secret is for. */
export interface CredentialOwner {
  readonly userId: string
  readonly organizationId?: string
  /** In ms since the epoch. */
  readonly expiresAt?: number
}

export interface IssuedSecret {
  /** What its holder sends. It is not kept, and nobody can tell it again. */
  readonly secret: string
  /** Under which it can be revoked; it is the `credentialId` of the caller. */
  readonly id: string
}

/** Gives out secrets, and takes them back. */
export interface SecretIssuer<For extends CredentialOwner> {
  /** A new one for `holder`. Rejects with a ConfigurationError for an `expiresAt` that is no whole number. */
  create(holder: For): Promise<IssuedSecret>
  /**
   * Revokes those that all of `which` fits. Their open sockets are the service's to close, by `revoke`. Rejects with a
   * ConfigurationError where `which` names nothing.
   */
  revoke(which: RevokeFilter): Promise<void>
  /** Deletes those that expired at `moment` or before, in ms since the epoch. */
  deleteExpired(moment: number): Promise<void>
}

export interface IssuerOptions {
  readonly random?: Random
}

/** A store over `table`, which finds for a secret what `read` makes of what is kept of it. */
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
    async create({ userId, organizationId, expiresAt }) {
      if (expiresAt !== undefined && !Number.isSafeInteger(expiresAt)) {
        throw new ConfigurationError('expiresAt', '`expiresAt` is a whole number of ms since the epoch.')
      }
      const secret = makeSecret(random)
      const { id, proof } = secret
      await table.insert({ id, hash: hashOf(proof), userId, organizationId, expiresAt, active: true })
      return { secret: printSecret(secret), id }
    },
    async revoke(which) {
      const { id, userId, organizationId } = which
      // A column that is empty comes as `null`, which fits everybody.
      if ((id ?? userId ?? organizationId ?? undefined) === undefined) {
        throw new ConfigurationError('which', 'Say what to revoke by `id`, `userId` or `organizationId`.')
      }
      await table.deactivate(which)
    },
    deleteExpired: (moment) => table.deleteExpired(moment),
  }
}

/** What is kept of the secret that `text` is; `undefined` where it is none. */
async function findSecret(table: SecretTable, text: string): Promise<SecretRow | undefined> {
  const secret = readSecret(text)
  const row = secret && (await table.find(secret.id))
  return row && proves(secret.proof, row.hash) ? row : undefined
}
