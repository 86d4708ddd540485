import type { SyncClient } from '../../src/index.ts'
import { faults } from './bare-server-faults.ts'
import type { Device } from './device.ts'

/** Makes a record of which the next delta says something else than that it is new. Resolves once `client` has heard it. */
export async function mislead(device: Device, client: SyncClient, id: string, op = 'u', t = 'Issue') {
  const sid = device.server.write('ada', [{ op: 'i', t, id, p: {} }])
  const body = JSON.stringify({ sid, frames: [{ sid, t, id, op, p: {} }] })
  device.server.failNext(faults.answer(200, body), { path: 'delta' })
  await device.clock.until(client.sync())
  await device.clock.advance(1_000)
}

/** Pushes that the issue `1`, which is lazy, was removed, and then updates of it. */
export async function misleadLazily(device: Device) {
  const id = `p${device.server.requests.length}`
  const sid = device.server.write('ada', [{ op: 'i', t: 'Project', id, p: {} }])
  const frames = ['d', 'u', 'u'].map((op) => ({ sid, op, t: 'Issue', id: '1', p: { n: 1 } }))
  device.push({ since: sid - 1, sid, frames })
  await device.clock.advance(1_000)
}

/** Lets the journal grow until it is folded into the pages. */
export async function foldJournal(device: Device, client: SyncClient) {
  for (const big of ['x'.repeat(700_000), '']) {
    device.server.write('ada', [{ op: 'i', t: 'Note', id: `n${device.server.requests.length}`, p: { big } }])
    await device.clock.until(client.sync())
  }
  await device.clock.advance(10_000)
}
