/** A secret as it is kept: whose it is, and the hash of what proves it. */
export interface SecretRow {
  readonly id: string
  /** SHA-256, in base64url. */
  readonly hash: string
  readonly userId: string
  readonly organizationId: string | undefined
  /** In ms since the epoch. */
  readonly expiresAt: number | undefined
  readonly active: boolean
}

/** Which of the secrets are meant: those that all of it fits. */
export interface RevokeFilter {
  readonly id?: string
  readonly userId?: string
  readonly organizationId?: string
}

/** Where secrets are kept. */
export interface SecretTable {
  insert(row: SecretRow): Promise<void>
  find(id: string): Promise<SecretRow | undefined>
  /** Once it resolves, no `find` gives one of these as active. */
  deactivate(which: RevokeFilter): Promise<void>
  /** Deletes what expired at `moment` or before. */
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
