import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import { Device, inStep, shown } from '../support/device.ts'
import { perOrigin } from '../support/per-origin.ts'
import { ownFolder, ownSqliteStore } from '../support/sqlite.ts'
import { inStep as inStepWithService, notes } from '../support/test-backend.ts'

test('a client in Node shows what is stored after a restart without a network, and goes on with a delta', async () => {
  const folder = ownFolder()
  const device = new Device({ store: ownSqliteStore(folder) })
  for (let n = 0; n < 3_000; n += 1) device.insert(`${n}`, { n })
  await device.live()
  device.insert('later')
  await device.clock.advance(2_000)
  const asked = device.requests.length
  await device.quit()
  device.network.cut()
  // Another store, as after a restart of the process.
  const client = device.client({ store: ownSqliteStore(folder) })
  await device.clock.until(client.start())
  expect(client.status.storage).toEqual({ kind: 'durable' })
  expect(client.status.data.state).toBe('stale')
  expect(Object.keys(shown(client))).toHaveLength(3_001)
  device.network.mend()
  device.remove('7')
  await device.clock.until(client.sync())
  expect(client.get('Issue', '7')).toBeUndefined()
  expect(device.requests.slice(asked)).not.toContain('bootstrap')
  await device.quit()
  expect(device.log).toEqual([])
})

test('a client in the main process of Electron and one in a window each have a database, and see the same', async () => {
  const { backend, device, client: inMain } = await inStepWithService({ 1: {} }, { store: ownSqliteStore() })
  const store = { ...memoryStore(), kind: 'durable', shared: perOrigin } as const
  const inWindow = await device.live({ store })
  expect([inMain, inWindow].map(({ status }) => status.role)).toEqual(['leader', 'leader'])
  inMain.mutate((m) => m.insert('Note', { id: '2' }))
  inWindow.mutate((m) => m.insert('Note', { id: '3' }))
  await device.clock.advance(5_000)
  for (const client of [inMain, inWindow]) expect(Object.keys(notes(client))).toEqual(['1', '2', '3'])
  expect(backend.received).toHaveLength(2)
  await device.quit()
  expect(device.log).toEqual([])
})

test('a client whose file is damaged works in memory, says which file, and leaves it', async () => {
  const folder = ownFolder()
  const { device } = await inStep({ 1: {} }, {}, { store: ownSqliteStore(folder) })
  await device.quit()
  const files = readdirSync(folder).map((name) => join(folder, name))
  for (const file of files) writeFileSync(file, 'damaged '.repeat(1_000))
  const client = await device.live()
  expect(shown(client)).toEqual({ 1: {} })
  const { kind, reason } = client.status.storage
  const database = files.find((file) => file.endsWith('.sqlite')) ?? ''
  expect([kind, reason]).toEqual(['memory', expect.stringContaining(database)])
  expect(readFileSync(database, 'utf8')).toMatch(/^damaged/)
  await device.quit()
})
