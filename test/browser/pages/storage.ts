import { storeContract } from '../../../src/storage/contract.ts'
import { indexedDbStore } from '../../../src/storage/indexeddb.ts'
import { runCases } from '../in-page.ts'

const store = indexedDbStore()

await runCases(
  storeContract.map(({ name, run }) => ({ name, run: () => run({ store, name: crypto.randomUUID() }) })),
)
