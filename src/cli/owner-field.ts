import type { OwnerField } from '../server/auth/caller.ts'
import type { Settings } from './settings.ts'

export const ownerFieldOption = {
  about: 'The field of a record that names its owner (userId)',
  value: 'userId|organizationId',
}

export function ownerFieldIn(settings: Settings): OwnerField {
  return settings.oneOf('owner-field', ['userId', 'organizationId']) ?? 'userId'
}
