import { connectionCases } from './contract/connections.ts'
import type { StoreContractCase } from './contract/context.ts'
import { rangeCases } from './contract/ranges.ts'
import { sharedCases } from './contract/shared.ts'
import { transactionCases } from './contract/transactions.ts'
import { valueCases } from './contract/values.ts'

export type { StoreContractCase, StoreContractContext } from './contract/context.ts'

/**
 * Tests that every {@link Store} must pass, as cases for any test runner. They also run in a page. Each `run` resolves
 * if the store passes, and rejects with an Error that names the difference.
 *
 * @example
 * for (const { name, run } of storeContract) test(name, () => run({ store, name: crypto.randomUUID() }))
 */
export const storeContract: readonly StoreContractCase[] = [
  ...transactionCases,
  ...valueCases,
  ...rangeCases,
  ...connectionCases,
  ...sharedCases,
]
