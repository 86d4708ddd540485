import { sha256 } from '../sha256.ts'

/**
 * What a client's position counts in: another after a restore from backup, and another where the same login comes
 * to own other data. It tells nothing of what it is made of.
 */
export function epochOf(history: string, ownerField: string, owner: string): string {
  return sha256(JSON.stringify([history, ownerField, owner])).slice(0, 22)
}
