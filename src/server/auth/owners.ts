import { isStorableName, maxNameLength } from '../../protocol/json-copy.ts'

/** The values that {@link areOwners} accepts, for an error message. */
export const ownersExpected = `an array of texts, each of 1 to ${maxNameLength} characters`

/** Whether `value` can be the owner of a record. */
export function isOwner(value: unknown): value is string {
  return value !== '' && isStorableName(value)
}

export function areOwners(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isOwner)
}
