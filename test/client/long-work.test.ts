import { expect, test } from 'vitest'
import * as z from 'zod/mini'
import type { Clock } from '../../src/base/environment.ts'
import { defineModels, model } from '../../src/index.ts'
import { Device } from '../support/device.ts'

const rows = 5_000

const models = defineModels({ Issue: model(z.object({ n: z.number() }), { indexes: ['n'] }) })

/** A device with many records before it, on which each look at the clock takes long, and which counts the turns that others get. */
function slowDevice() {
  const device = new Device()
  for (let n = 0; n < rows; n += 1) device.insert(`${n}`, { n })
  const turns = { count: 0 }
  let spent = 0
  const clock: Clock = {
    now: () => {
      spent += 10
      return device.clock.now() + spent
    },
    after: (ms, callback) => device.clock.after(ms, callback),
    pause: () => {
      turns.count += 1
      return device.clock.pause()
    },
  }
  const client = () => device.client({ models, environment: { ...device.environment, clock } })
  return { device, turns, client }
}

test('a large snapshot is applied in short slices, and other tasks run between them', async () => {
  const { device, turns, client } = slowDevice()
  const ada = client()
  let whole = 0
  ada.on('status', ({ data }) => {
    if (data.state === 'loading' && data.progress.rows === rows) whole = turns.count
  })
  await device.clock.until(ada.sync())
  expect(whole).toBeGreaterThan(0)
  expect(turns.count - whole).toBeGreaterThan(10)
})

test('large data is restored in short slices, and other tasks run between them', async () => {
  const { device, turns, client } = slowDevice()
  await device.clock.until(client().sync())
  await device.quit()
  turns.count = 0
  await client().start()
  expect(turns.count).toBeGreaterThan(10)
})

test('a large delta is applied in short slices, and other tasks run between them', async () => {
  const { device, turns, client } = slowDevice()
  const ada = client()
  await device.clock.until(ada.sync())
  for (let n = rows; n < 2 * rows; n += 1) device.insert(`${n}`, { n })
  turns.count = 0
  const { changes } = await device.clock.until(ada.sync())
  expect(turns.count).toBeGreaterThan(8)
  expect(changes).toBe(rows)
  expect(ada.count('Issue')).toBe(2 * rows)
})
