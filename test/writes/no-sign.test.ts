import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { Office } from '../support/office.ts'
import { withSteps } from '../support/store-steps.ts'

test('what the disk lets go without a sign stands, and is on it again, where it is not known that it went', async () => {
  const office = await Office.open()
  let silent = false
  const store = withSteps(memoryStore(), {
    awaited: ({ name, mode }) => {
      if (!silent || name !== 'complete' || mode !== 'write') return undefined
      silent = false
      return new Promise<void>(() => {})
    },
    immediate() {},
  })
  const desk = office.desk({ store })
  const client = await desk.live()
  await client.stop()
  const tx = client.mutate((m) => m.insert('Note', { id: '1' }))
  await office.clock.until(tx.durable)
  silent = true
  await expect(office.clock.until(tx.undo())).rejects.toMatchObject({ code: 'timeout' })
  expect(tx.state).toBe('queued')
  await desk.kill()
  const again = desk.client()
  await office.clock.until(again.start())
  expect(again.outbox.list().map(({ id }) => id)).toEqual([tx.id])
})
