import { expect, test } from 'vitest'
import { at, failure, inStep, oneNote, watched } from '../support/test-backend.ts'

test('invariant 28: a push of another history does not hide a pending change', async () => {
  const { backend, client } = await inStep({ 1: { n: 1 } })
  const seen = watched(client, '1', 'n')
  let push: ((message: unknown) => void) | undefined
  backend.push = (message, send) => {
    push = send
    send(message)
  }
  await backend.update('1', { title: 'Milk' })
  await backend.clock.advance(1_000)
  const never = async () => await new Promise<Response>(() => {})
  backend.intercept = at('tx', never)
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await backend.clock.advance(500)
  backend.intercept = never
  const frame = { sid: 1, op: 'u', t: 'Note', id: '1', p: { n: 2 }, tx: tx.id }
  push?.({ epoch: 'other', since: 0, sid: 1, frames: [frame] })
  await backend.clock.advance(2_000)
  expect([tx.state, seen]).toEqual(['sending', [1, 2]])
})

test('results that keep coming from another history than the data are reported as a fault', async () => {
  const { backend, device, client } = await inStep({ 1: { n: 1 } })
  backend.intercept = at('tx', async () => Response.json({ epoch: 'other', sid: 9, results: [] }))
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await backend.clock.advance(100)
  expect(device.log).toEqual([])
  await backend.clock.advance(10_000)
  expect(device.log).toContain('error ProtocolError discontinuous')
  backend.intercept = (_, pass) => pass()
  await backend.clock.advance(60_000)
  expect([tx.state, await backend.rows()]).toEqual(['synced', { 1: { n: 2 } }])
})

test('a write that a lost history had accepted is sent again, even after a restart', async () => {
  const { backend, device, client } = await oneNote({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  backend.push = () => {}
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.accepted)
  await backend.server.restore()
  await backend.insert('1', { title: 'old' })
  backend.intercept = at('tx', async () => failure(503))
  await backend.clock.until(client.sync())
  await backend.clock.advance(100)
  await device.kill()
  backend.intercept = (_, pass) => pass()
  await device.live()
  await backend.clock.advance(60_000)
  expect(await backend.rows()).toEqual({ 1: { title: 'new' } })
})

test('a condition on a position of a lost history fails, even after a restart', async () => {
  const { backend, device, client } = await oneNote()
  device.network.cut()
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }, { ifUnchanged: true }), { label: 'Count' })
  await backend.clock.until(tx.durable)
  await backend.server.restore()
  await backend.insert('1', { title: 'theirs', n: 7 })
  await device.kill()
  await device.live()
  await backend.clock.advance(60_000)
  expect(device.log).toContain('rejected Count conflict')
  expect(await backend.rows()).toEqual({ 1: { title: 'theirs', n: 7 } })
})
