import { expect, test } from 'vitest'
import { type BareFault, faults } from '../support/bare-server-faults.ts'
import { baseUrl, Device } from '../support/device.ts'

/** How many pages the disk of `device` holds, whatever of. */
async function storedPages({ store }: Device): Promise<number> {
  const connection = await store.open(`instep:${JSON.stringify([`${baseUrl}/bootstrap`, 'ada'])}`)
  const keys = await connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) => tx.keys('pages'))
  connection.close()
  return keys.length
}

const miscounted: BareFault = (answer) => ({
  ...answer,
  body: ['{"count":1,', ...answer.body.map((text, n) => (n > 0 ? text : `${text}`.replace('{', '')))],
})

test.each([
  ['breaks off', []],
  ['says another count than that of its rows, and breaks off the second time', [miscounted]],
])('a snapshot that %s leaves nothing on the disk', async (_, before) => {
  const device = new Device({ text: 'compact' })
  for (let n = 0; n < 3_000; n += 1) device.insert(`${n}`, { text: 'x'.repeat(1_000) })
  for (const fault of [...before, faults.truncated(0.9)])
    device.server.failNext(fault, { path: '/bootstrap' })
  const client = device.client()
  await expect(device.clock.until(client.sync())).rejects.toThrow('broke off')
  expect(device.requests).toHaveLength(before.length + 1)
  expect(await storedPages(device)).toBe(0)
})
