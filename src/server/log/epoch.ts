import { sha256 } from '../sha256.ts'

/**
 * The epoch of an owner's data: a hash, which reveals nothing about its input. It changes after a restore from a
 * backup, and when the same login comes to own other data.
 */
export function epochOf(history: string, ownerField: string, owner: string): string {
  return sha256(JSON.stringify([history, ownerField, owner])).slice(0, 22)
}
