import { createHash } from 'node:crypto'

/**
 * What a client's position counts in: another after a restore from backup, and another where the same login comes
 * to own other data. It tells nothing of what it is made of.
 */
export function epochOf(history: string, ownerField: string, owner: string): string {
  return createHash('sha256')
    .update(JSON.stringify([history, ownerField, owner]))
    .digest('base64url')
    .slice(0, 22)
}
