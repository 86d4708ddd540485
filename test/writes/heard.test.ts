import { expect, test } from 'vitest'
import type { SyncFrame } from '../../src/protocol/frame.ts'
import { at, TestBackend } from '../support/test-backend.ts'

test.each([
  ['in', (frames: readonly SyncFrame[]) => frames],
  ['against', (frames: readonly SyncFrame[]) => [...frames].reverse()],
])(
  'a transaction whose response was lost is accepted when its last frame arrives, frames %s order',
  async (_, order) => {
    const backend = new TestBackend()
    const device = backend.device()
    const client = device.client()
    await client.start()
    await backend.clock.advance(1_000)
    backend.intercept = at('tx', async (_, pass) => {
      await pass()
      return new Promise<never>(() => {})
    })
    backend.push = ({ frames = [], ...message }, send) => send({ ...message, frames: order(frames) })
    const tx = client.mutate((m) => {
      for (const id of ['1', '2', '3']) m.insert('Note', { id })
    })
    expect(await backend.clock.until(tx.accepted)).toBe(3)
    await device.kill()
  },
)
