import { connectionCases } from './contract/connections.ts'
import type { StoreContractCase } from './contract/context.ts'
import { rangeCases } from './contract/ranges.ts'
import { transactionCases } from './contract/transactions.ts'
import { valueCases } from './contract/values.ts'

export type { StoreContractCase, StoreContractContext } from './contract/context.ts'

/**
 * What every {@link Store} must do, as cases without a test runner: they run in any, and in a page.
 *
 * @example
 * for (const { name, run } of storeContract) test(name, () => run({ store, name: crypto.randomUUID() }))
 */
export const storeContract: readonly StoreContractCase[] = [
  ...transactionCases,
  ...valueCases,
  ...rangeCases,
  ...connectionCases,
]
