import { expect, test } from 'vitest'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import { at, Office } from '../support/office.ts'

test.each([
  ['in', (frames: readonly SyncFrame[]) => frames],
  ['against', (frames: readonly SyncFrame[]) => [...frames].reverse()],
])(
  'a transaction whose answer was lost is accepted by its frames, %s their order, as the last of them',
  async (_, order) => {
    const office = await Office.open()
    const desk = office.desk()
    const client = desk.client()
    await client.start()
    await office.clock.advance(1_000)
    office.intercept = at('tx', async (_, pass) => {
      await pass()
      return new Promise<never>(() => {})
    })
    office.push = ({ frames = [], ...message }, send) => send({ ...message, frames: order(frames) })
    const tx = client.mutate((m) => {
      for (const id of ['1', '2', '3']) m.insert('Note', { id })
    })
    expect(await office.clock.until(tx.accepted)).toBe(3)
    await desk.kill()
  },
)
