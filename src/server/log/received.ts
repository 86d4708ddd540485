import type { LoggedChange } from './log.ts'

/**
 * Whether a caller with `owners` receives a change. A caller who sees both sides of a move receives only the arrival,
 * which is the whole record: with the removal as well, the record would be gone in between.
 */
export function isReceivedBy(
  owners: ReadonlySet<string>,
  { owner, movedTo }: Pick<LoggedChange, 'owner' | 'movedTo'>,
): boolean {
  return owners.has(owner) && !(movedTo !== undefined && owners.has(movedTo))
}
