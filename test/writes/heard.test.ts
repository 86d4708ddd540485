import { expect, test } from 'vitest'
import { at, Office } from '../support/office.ts'

test('a transaction whose answer was lost is accepted by its frames, in any order, as the last of them', async () => {
  const office = await Office.open()
  const desk = office.desk()
  const client = desk.client()
  await client.start()
  await office.clock.advance(1_000)
  office.intercept = at('tx', async (_, pass) => {
    await pass()
    return new Promise<never>(() => {})
  })
  office.push = ({ frames = [], ...message }, send) => send({ ...message, frames: [...frames].reverse() })
  const tx = client.mutate((m) => {
    for (const id of ['1', '2', '3']) m.insert('Note', { id })
  })
  expect(await office.clock.until(tx.accepted)).toBe(3)
  await desk.kill()
})
