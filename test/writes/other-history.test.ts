import { expect, test } from 'vitest'
import { at, failure, Office, watched } from '../support/office.ts'
import { oneNote } from '../support/one-note.ts'

test('invariant 28: a push of another history that names a change does not take it from sight', async () => {
  const office = await Office.open()
  await office.insert('1', { n: 1 })
  const desk = office.desk()
  const client = await desk.live()
  const seen = watched(client, '1', 'n')
  let push: ((message: unknown) => void) | undefined
  office.push = (message, send) => {
    push = send
    send(message)
  }
  await office.update('1', { title: 'Milk' })
  await office.clock.advance(1_000)
  const never = async () => await new Promise<Response>(() => {})
  office.intercept = at('tx', never)
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await office.clock.advance(500)
  office.intercept = never
  const frame = { sid: 1, op: 'u', t: 'Note', id: '1', p: { n: 2 }, tx: tx.id }
  push?.({ epoch: 'other', since: 0, sid: 1, frames: [frame] })
  await office.clock.advance(2_000)
  expect([tx.state, seen]).toEqual(['sending', [1, 2]])
})

test('answers that stay of another history than the data are told as the fault that they are', async () => {
  const office = await Office.open()
  await office.insert('1', { n: 1 })
  const desk = office.desk()
  const client = await desk.live()
  office.intercept = at('tx', async () => Response.json({ epoch: 'other', sid: 9, results: [] }))
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await office.clock.advance(200)
  expect(desk.log).toEqual([])
  await office.clock.advance(10_000)
  expect(desk.log).toContain('error ProtocolError discontinuous')
  office.intercept = (_, pass) => pass()
  await office.clock.advance(60_000)
  expect([tx.state, await office.rows()]).toEqual(['synced', { 1: { n: 2 } }])
})

test('what a lost history had accepted is sent again, also where the client restarts before it was', async () => {
  const { office, desk, client } = await oneNote({ echoTimeout: 3_600_000, pollInterval: 3_600_000 })
  office.push = () => {}
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await office.clock.until(tx.accepted)
  await office.startOver()
  await office.insert('1', { title: 'old' })
  office.intercept = at('tx', async () => failure(503))
  await office.clock.until(client.sync())
  await office.clock.advance(100)
  await desk.kill()
  office.intercept = (_, pass) => pass()
  await desk.live()
  await office.clock.advance(60_000)
  expect(await office.rows()).toEqual({ 1: { title: 'new' } })
})

test('a condition of a lost history fails, also where another has come as far and the client was restarted', async () => {
  const { office, desk, client } = await oneNote()
  desk.network.cut()
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }, { ifUnchanged: true }), { label: 'Count' })
  await office.clock.until(tx.durable)
  await office.startOver()
  await office.insert('1', { title: 'theirs', n: 7 })
  await desk.kill()
  await desk.live()
  await office.clock.advance(60_000)
  expect(desk.log).toContain('rejected Count conflict')
  expect(await office.rows()).toEqual({ 1: { title: 'theirs', n: 7 } })
})
