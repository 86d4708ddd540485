import type { Transaction } from '../../src/index.ts'
import { TestBackend, type TestDevice } from './test-backend.ts'

/** An backend with one note, and a client that has it. */
export async function oneNote(options: Parameters<TestDevice['live']>[0] = {}) {
  const backend = await TestBackend.open()
  await backend.insert('1', { title: 'Milk', n: 1 })
  const device = backend.device()
  return { backend, device, client: await device.live(options) }
}

/** The note, which somebody else has changed since this client saw it, and an update that asks for the conflict. */
export async function conflict(options: Parameters<TestDevice['live']>[0] = {}) {
  const { backend, device, client } = await oneNote(options)
  device.network.cut()
  const tx: Transaction = client.mutate(
    (m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }),
    {
      label: 'Rename',
    },
  )
  await backend.update('1', { title: 'theirs', n: 2 })
  device.network.mend()
  await backend.clock.advance(60_000)
  return { backend, device, client, tx }
}
