import { describe, expect, test } from 'vitest'
import { memoryStore, type Store } from '../../src/index.ts'
import { storeContract } from '../../src/testing/index.ts'

describe('the store contract', () => {
  test('passes for the memory store', async () => {
    for (const { run } of storeContract) await run({ store: memoryStore(), name: 'contract' })
    expect(storeContract.length).toBeGreaterThan(20)
  })

  test('detects a store that keeps the writes of a failed transaction', async () => {
    const kept = memoryStore()
    const store: Store = {
      ...kept,
      async open(name) {
        const connection = await kept.open(name)
        return {
          ...connection,
          async transaction(options, body) {
            let failure: unknown
            const result = await connection.transaction(options, async (tx) => {
              try {
                return await body(tx)
              } catch (error) {
                failure = error
                return undefined as never
              }
            })
            if (failure) throw failure
            return result
          },
        }
      },
    }
    const broken: string[] = []
    for (const [index, { name, run }] of storeContract.entries()) {
      await run({ store, name: `contract ${index}` }).catch(() => broken.push(name))
    }
    expect(broken.length).toBeGreaterThan(0)
  })

  test('ends with a store that ignores signals, and names the broken cases', async () => {
    const deaf = memoryStore()
    const store: Store = {
      ...deaf,
      async open(name) {
        const connection = await deaf.open(name)
        return {
          ...connection,
          transaction: ({ tables, mode }, body) => connection.transaction({ tables, mode }, body),
        }
      },
    }
    const broken: string[] = []
    for (const [index, { name, run }] of storeContract.entries()) {
      await run({ store, name: `contract ${index}` }).catch(() => broken.push(name))
    }
    expect(broken).toEqual([
      'a signal aborts a running transaction',
      'an aborted signal prevents a transaction',
    ])
  })
})
