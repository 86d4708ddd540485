import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../src/storage/memory.ts'
import type { TransactionOptions } from '../../src/storage/store.ts'
import { faults } from '../support/bare-server-faults.ts'
import { Device, inStep, shown } from '../support/device.ts'
import { withSteps } from '../support/store-steps.ts'
import { watching } from '../support/watching-store.ts'

describe('stop and close', () => {
  test('after a stop, the status names no socket until the next one opens', async () => {
    const { device, client } = await inStep({ 1: {} })
    await device.clock.until(client.stop())
    device.network.blackHole()
    await client.start()
    await device.clock.advance(5_000)
    expect(client.status.connection.state).toBe('connecting')
  })

  test('a stop ends the loading', async () => {
    const device = new Device()
    for (let n = 0; n < 3_000; n += 1) device.insert(`${n}`, { text: 'x'.repeat(100) })
    device.server.behaviour.chunkBytes = 1_000
    device.network.chunkMs = 5
    const client = device.client()
    await client.start()
    await device.clock.advance(500)
    expect(client.status.data.state).toBe('loading')
    await device.clock.until(client.stop())
    expect(client.status.data.state).toBe('none')
  })

  test('a snapshot that breaks off ends the loading until the next one begins', async () => {
    const device = new Device()
    device.insert('1')
    const client = device.client()
    device.server.failNext(faults.truncated(0.5), { path: 'bootstrap' })
    await expect(device.clock.until(client.sync())).rejects.toThrow('broke off')
    expect(client.status.data.state).toBe('none')
  })

  test('close waits for the work of an earlier stop, and nothing changes afterwards', async () => {
    let release = () => {}
    let holds = true
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const store = withSteps(memoryStore(), {
      awaited: ({ name, key, mode }) =>
        holds && name === 'begin' && mode === 'write' && !key ? held : undefined,
      immediate: () => {},
    })
    const device = new Device({ store })
    device.insert('1')
    holds = false
    const client = device.client()
    await client.start()
    holds = true
    await device.clock.advance(200)
    const stopped = client.stop()
    device.network.cut()
    await client.start()
    await device.clock.advance(10)
    let closed = false
    const closing = client.close().then(() => {
      closed = true
    })
    await device.clock.advance(100)
    expect(closed).toBe(false)
    holds = false
    release()
    await device.clock.until(Promise.all([stopped, closing]))
    const last = [shown(client), client.status]
    await device.clock.advance(60_000)
    expect([shown(client), client.status]).toEqual(last)
  })

  test('the work of an earlier stop does not make the data current after the next start', async () => {
    let release = () => {}
    let held: Promise<void> | undefined
    const isCommit = ({ tables, mode }: TransactionOptions) => mode === 'write' && tables.includes('journal')
    const store = watching(memoryStore(), (options) => (isCommit(options) ? held : undefined))
    const device = new Device({ store })
    device.insert('1')
    const client = device.client()
    await client.start()
    held = new Promise((resolve) => {
      release = resolve
    })
    await device.clock.advance(200)
    const stopped = client.stop()
    device.network.blackHole()
    await client.start()
    release()
    await device.clock.until(stopped)
    // By then the socket has not opened, and there is no answer yet.
    await device.clock.advance(20_000)
    expect(shown(client)).toEqual({ 1: {} })
    expect(client.status).toMatchObject({ data: { state: 'stale' }, connection: { state: 'connecting' } })
  })

  test('a change of status by a listener reaches the listeners after it', async () => {
    const device = new Device()
    device.insert('1')
    const client = device.client()
    client.on('status', ({ connection }) => {
      if (connection.state === 'socket') void client.stop()
    })
    const heard: string[] = []
    client.on('status', ({ lifecycle, connection }) => heard.push(`${lifecycle} ${connection.state}`))
    await client.start()
    await device.clock.advance(10_000)
    expect(heard.at(-1)).toBe('stopped idle')
  })

  test('a handler that resolves after close causes no error', async () => {
    const device = new Device()
    const warned: string[] = []
    let answer = (_: string) => {}
    const client = device.client({
      token: 'bad',
      logger: { debug() {}, info() {}, error() {}, warn: (message) => warned.push(message) },
      onUnauthenticated: () =>
        new Promise<string>((resolve) => {
          answer = resolve
        }),
    })
    await client.start()
    await device.clock.advance(1_000)
    await device.clock.until(client.close())
    const before = warned.length
    answer('fresh')
    await device.clock.advance(1_000)
    expect(warned.length).toBe(before)
  })
})
