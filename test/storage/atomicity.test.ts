import { describe, expect, test } from 'vitest'
import { stores } from '../support/store-databases.ts'

const between = (): void => {
  throw new Error('between')
}
const tables = ['meta', 'journal'] as const

describe.each(Object.entries(stores))('over %s', (_, make) => {
  test('invariant 38: an exception between two puts aborts the transaction', async () => {
    const connection = await make().open('db')
    const failing = connection.transaction({ tables, mode: 'write' }, async (tx) => {
      tx.put('journal', '1', 'first')
      await tx.get('journal', '1')
      between()
      tx.put('meta', 'position', 1)
    })
    await expect(failing).rejects.toThrow('between')
    const left = await connection.transaction({ tables, mode: 'read' }, (tx) => tx.keys('journal'))
    expect(left).toEqual([])
    connection.close()
  })
})
