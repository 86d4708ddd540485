import { expect, test } from 'vitest'
import { defineModels, model, type SyncClient, type SyncClientOptions } from '../../src/index.ts'
import { Device, shown } from '../support/device.ts'
import { models, restarted, schema } from '../support/lazy-types.ts'
import { foldJournal, mislead, misleadLazily } from '../support/misled.ts'

/** Of an issue that is on the disk alone, and of whose removal and updates a client has heard, though it is there. */
const told = 'anomaly unknown_record: The server updated an unknown record: Issue 1.'
const mended = { 1: { title: 'Milk' } }

async function missing() {
  const { device, client } = await restarted({}, new Device({ push: 'none' }))
  await misleadLazily(device)
  expect(device.log).toEqual([])
  return { device, client }
}

/** The next client on the device, which uses the issues once it has started, or before. */
async function next(device: Device, isBefore = false, options: Partial<SyncClientOptions> = { models }) {
  await device.quit()
  const client = device.client(options)
  if (isBefore) client.count('Issue')
  await client.start()
  await device.clock.advance(1_000)
  return client
}

async function loadIssues(device: Device, client: SyncClient) {
  await device.clock.until(client.load('Issue'))
  await device.clock.advance(5_000)
}

test('a missed change is reported and repaired once its type is loaded, even after an earlier removal', async () => {
  const { device, client } = await missing()
  await loadIssues(device, client)
  expect([device.log, shown(client)]).toEqual([[told, 'reset repair since 2'], mended])
})

test.each([true, false])(
  'a missed change is repaired after a restart that uses the type early: %s',
  async (isBefore) => {
    const { device } = await missing()
    const client = await next(device, isBefore)
    await loadIssues(device, client)
    expect([device.log, shown(client)]).toEqual([[told, 'reset repair since 2'], mended])
  },
)

test('a missed change is repaired after checkpoints of this session and the next', async () => {
  const { device } = await missing()
  for (const _ of ['one', 'another']) await foldJournal(device, await next(device))
  const client = await next(device)
  await foldJournal(device, client)
  await device.clock.advance(10 * 3_600_000)
  expect(device.log).toEqual(['reset repair since 4'])
  await loadIssues(device, client)
  expect(shown(client)).toEqual(mended)
  expect(device.bootstraps).toBe(2)
})

test('a missed change is repaired after a migration', async () => {
  const { device } = await missing()
  const eager = defineModels({ Issue: model(schema) }, { version: 2, migrate: {} })
  const client = await next(device, false, { models: eager })
  await device.clock.advance(5_000)
  expect(device.log).toEqual(['reset repair since 2'])
  expect(shown(client)).toEqual(mended)
})

test('each client reports what it misses, even if a repair is already due', async () => {
  const { device, client } = await restarted({}, new Device({ push: 'none' }))
  await mislead(device, client, 'a', 'u', 'Project')
  await misleadLazily(device)
  for (const isBefore of [true, false]) {
    device.log.length = 0
    await loadIssues(device, await next(device, isBefore))
    expect(device.log).toEqual([told])
  }
})
