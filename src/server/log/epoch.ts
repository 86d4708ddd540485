import { sha256 } from '../sha256.ts'

/**
 * The epoch of the data of `owners`, which are sorted: a hash, which reveals nothing about its input. It changes after
 * a restore from a backup, and when a user gets the data of other owners.
 */
export function epochOf(history: string, ownerField: string, owners: readonly string[]): string {
  return sha256(JSON.stringify([history, ownerField, ...owners])).slice(0, 22)
}
