import type { Check } from './check.ts'
import { changeChecks } from './checks/changes.ts'
import { credentialChecks } from './checks/credentials.ts'
import { extensionChecks } from './checks/extensions.ts'
import { orderChecks } from './checks/order.ts'
import { ownershipChecks } from './checks/ownership.ts'
import { payloadChecks } from './checks/payloads.ts'
import { pushChecks } from './checks/pushes.ts'
import { deltaChecks, snapshotChecks } from './checks/reading.ts'
import { refusalChecks } from './checks/refusals.ts'
import { transactionChecks } from './checks/transactions.ts'
import { transportChecks } from './checks/transport.ts'
import { undoChecks } from './checks/undo.ts'

/** All checks, in the order of the report. */
export const suite: readonly Check[] = [
  ...credentialChecks,
  ...snapshotChecks,
  ...deltaChecks,
  ...changeChecks,
  ...orderChecks,
  ...transactionChecks,
  ...refusalChecks,
  ...payloadChecks,
  ...pushChecks,
  ...ownershipChecks,
  ...undoChecks,
  ...extensionChecks,
  ...transportChecks,
]

/** The checks that `name` selects: one by its name, or all of a subject. */
export function selected(name: string): readonly Check[] {
  return suite.filter((check) => check.name === name || check.name.startsWith(`${name}/`))
}
