import { describe, expect, test } from 'vitest'
import * as z from 'zod/mini'
import { model, type StandardSchema } from '../../src/index.ts'
import { Device, inStep, shown } from '../support/device.ts'

const models = { Issue: model(z.object({ title: z.string() }), { indexes: ['title'] }) }

describe('a record that breaks its model is kept and shown, and reported once per type', () => {
  test('in a snapshot, after the data', async () => {
    const device = new Device()
    for (const id of ['1', '2', '3']) device.insert(id, { title: 7 })
    device.insert('4', { title: 'good' })
    const client = device.client({ models })
    client.on('change', () => device.log.push(`change: ${client.count('Issue')}`))
    await device.clock.until(client.sync())
    await device.clock.advance(100)
    expect(device.log).toEqual([
      'change: 4',
      expect.stringMatching(
        /^anomaly model: Issue 1 breaks its model at `title`: .+\. 2 more of the type break it\.$/,
      ),
    ])
    expect(client.count('Issue')).toBe(4)
  })

  test('in a delta', async () => {
    const device = new Device()
    device.insert('1', { title: 'good' })
    const client = device.client({ models })
    await device.clock.until(client.sync())
    device.update('1', { title: null })
    device.insert('2')
    await device.clock.until(client.sync())
    expect(device.log).toEqual([
      expect.stringMatching(/^anomaly model: Issue 1 breaks .+ 1 more of the type break it\.$/),
    ])
    expect(shown(client)).toEqual({ 1: { title: null }, 2: {} })
  })

  test('in a push', async () => {
    const { device, client } = await inStep({ 1: { title: 'good' } }, { models })
    device.insert('2', { title: 7 })
    await device.clock.advance(50)
    expect(shown(client)).toEqual({ 1: { title: 'good' }, 2: { title: 7 } })
    expect(device.log).toEqual([expect.stringMatching(/^anomaly model: Issue 2 breaks /)])
    // The delta that confirms it changes nothing, so there is nothing more to tell.
    await device.clock.advance(2_000)
    expect(device.log).toHaveLength(1)
  })

  test('in restored data', async () => {
    const { device } = await inStep({ 1: { title: 7 } }, { models })
    await device.quit()
    device.log.length = 0
    device.network.cut()
    const client = await device.live({ models })
    expect(shown(client)).toEqual({ 1: { title: 7 } })
    expect(device.log).toEqual([expect.stringMatching(/^anomaly model: Issue 1 breaks /)])
  })
})

test('types without a model are accepted, and their changes emitted', async () => {
  const device = new Device()
  device.insert('1', { title: 7 }, 'Note')
  const client = await device.live({ models })
  expect(client.all('Note')).toHaveLength(1)
  client.on('change', (event) => {
    if (event.kind === 'delta')
      device.log.push(...event.changes.map(({ type: t, id }) => `change: ${t} ${id}`))
  })
  device.server.write('ada', [{ op: 'u', t: 'Note', id: '1', p: { title: 8 } }])
  await device.clock.advance(50)
  expect(device.log).toEqual(['change: Note 1'])
})

/** A schema of no library, which fails in its own way. */
function schemaBy(validate: () => unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'by hand', validate: validate as never } }
}

test.each([
  ['is asynchronous', async () => ({ value: {} }), /^error ConfigurationError configuration$/],
  ['rejects', () => Promise.reject(new Error('no')), /^error ConfigurationError configuration$/],
  ['gives nothing', () => undefined, /^error SyncError unexpected$/],
  [
    'throws',
    () => {
      throw new Error('no')
    },
    /^anomaly model: Issue \d breaks its model: The schema threw: no\.$/,
  ],
])('a schema that %s is reported, and syncing continues', async (_, validate, told) => {
  const { device, client } = await inStep({ 1: {} }, { models: { Issue: schemaBy(validate) } })
  expect(device.log).toEqual([expect.stringMatching(told)])
  device.insert('2')
  await device.clock.advance(2_000)
  device.insert('3')
  await device.clock.advance(2_000)
  expect(shown(client)).toEqual({ 1: {}, 2: {}, 3: {} })
  expect(client.status).toMatchObject({ connection: { state: 'socket' }, data: { state: 'current' } })
})

test('a closed client checks nothing more', async () => {
  const device = new Device()
  device.insert('1')
  let looks = 0
  const counting = schemaBy(() => {
    looks += 1
    return { value: {} }
  })
  const client = device.client({ models: { Issue: counting } })
  client.on('change', () => void client.close())
  await client.start()
  await device.clock.advance(1_000)
  expect({ lifecycle: client.status.lifecycle, looks }).toEqual({ lifecycle: 'closed', looks: 0 })
})
