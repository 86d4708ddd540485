import { expect, test } from 'vitest'
import type { SnapshotProgress } from '../../src/index.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, shown } from '../support/device.ts'

/** A device whose first ten snapshots break at 60 %. */
function breaking() {
  const device = new Device()
  const text = 'x'.repeat(100)
  for (let n = 0; n < 4_000; n += 1) device.insert(`${n}`, { text })
  device.server.behaviour.chunkBytes = 10_000
  device.network.chunkMs = 10
  device.server.failNext(faults.truncated(0.6), { path: '/bootstrap', times: 10 })
  return device
}

test('the progress of a first sync that breaks ten times names the try, and goes back only with the next one', async () => {
  const device = breaking()
  const client = device.client()
  const seen: SnapshotProgress[] = []
  client.on('status', ({ data }) => data.state === 'loading' && seen.push(data.progress))
  await client.start()
  await device.clock.until(client.ready())
  expect([...new Set(seen.map(({ attempt }) => attempt))]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  const fellBack = seen.filter(({ attempt, bytes }, n) => {
    const before = seen[n - 1]
    return before !== undefined && before.attempt === attempt && before.bytes > bytes
  })
  expect(fellBack).toEqual([])
  expect(Object.keys(shown(client))).toHaveLength(4_000)
})
