import { isOwner } from '../server/auth/owners.ts'
import { UsageError } from './failure.ts'
import type { Settings } from './settings.ts'

export const ownerFieldOption = {
  about: 'The field of a record that names its owner (userId)',
  value: 'name',
}

export function ownerFieldIn(settings: Settings): string {
  const field = settings.text('owner-field') ?? 'userId'
  if (isOwner(field)) return field
  throw new UsageError('`--owner-field` must be the name of a field, as in `userId` or `owner`.')
}
