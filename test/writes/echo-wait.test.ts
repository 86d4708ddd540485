import { expect, test } from 'vitest'
import { oneNote } from '../support/test-backend.ts'

test('a later acceptance does not delay the fetch for an earlier one', async () => {
  const { backend, client } = await oneNote()
  backend.push = () => {}
  const first = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  for (let n = 0; n < 5; n += 1) {
    await backend.clock.advance(300)
    client.mutate((m) => m.insert('Note', { n }))
  }
  expect(first.state).toBe('synced')
})

test('a rejection is reported soon, even without pushes', async () => {
  const { backend, device, client } = await oneNote()
  backend.push = () => {}
  await backend.remove('1')
  client.mutate((m) => m.update('Note', '1', { title: 'new' }), { label: 'Rename' })
  await backend.clock.advance(1_500)
  expect(device.log).toEqual(['rejected Rename not_found'])
})

test('closing at the moment of a response leaves no timer', async () => {
  const { backend, client } = await oneNote({ echoTimeout: 60_000 })
  backend.push = () => {}
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  let closed: Promise<void> | undefined
  tx.subscribe(({ state }) => {
    if (state === 'accepted') closed = client.close()
  })
  await backend.clock.until(tx.accepted)
  await closed
  await backend.server.close()
  await backend.clock.advance(1_000)
  expect(backend.clock.timers).toBe(0)
})

test('a write that the data contains before the response causes no fetch', async () => {
  const { backend, client } = await oneNote()
  let fetches = 0
  backend.intercept = async (request, pass) => {
    const response = await pass()
    if (!request.url.endsWith('/tx')) fetches += 1
    await backend.wait(500)
    return response
  }
  // As by a server that does not say whose they are.
  backend.push = ({ frames = [], ...message }, send) =>
    send({ ...message, frames: frames.map(({ tx: _, ...frame }) => frame) })
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  await backend.clock.until(tx.synced)
  await backend.clock.advance(5_000)
  expect(fetches).toBe(0)
})
