/** A secret as it is stored: its owner, and the hash of its proof. */
export interface SecretRow {
  readonly id: string
  /** SHA-256, in base64url. */
  readonly hash: string
  readonly userId: string
  readonly organizationId: string | undefined
  readonly owners: readonly string[] | undefined
  /** When the secret expires, in ms since the epoch. */
  readonly expiresAt: number | undefined
  readonly active: boolean
}

/** Selects secrets. A secret must match all fields that are set. */
export interface RevokeFilter {
  readonly id?: string
  readonly userId?: string
  readonly organizationId?: string
}

/** A table of secrets. */
export interface SecretTable {
  insert(row: SecretRow): Promise<void>
  find(id: string): Promise<SecretRow | undefined>
  /** Once it resolves, `find` returns none of these secrets as active. */
  deactivate(which: RevokeFilter): Promise<void>
  /** Deletes secrets that expired at `moment` or before, in ms since the epoch. */
  deleteExpired(moment: number): Promise<void>
}

export function memorySecretTable(): SecretTable {
  const rows = new Map<string, SecretRow>()
  return {
    async insert(row) {
      rows.set(row.id, row)
    },
    async find(id) {
      return rows.get(id)
    },
    async deactivate({ id, userId, organizationId }) {
      for (const row of rows.values()) {
        const fits =
          (id ?? row.id) === row.id &&
          (userId ?? row.userId) === row.userId &&
          (organizationId ?? row.organizationId) === row.organizationId
        if (fits) rows.set(row.id, { ...row, active: false })
      }
    },
    async deleteExpired(moment) {
      for (const { id, expiresAt } of rows.values()) {
        if (expiresAt !== undefined && expiresAt <= moment) rows.delete(id)
      }
    },
  }
}
