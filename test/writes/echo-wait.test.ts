import { expect, test } from 'vitest'
import { oneNote } from '../support/one-note.ts'

test('what is accepted later does not put off the fetch that shows what was accepted before', async () => {
  const { backend, client } = await oneNote()
  backend.push = () => {}
  const first = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  for (let n = 0; n < 5; n += 1) {
    await backend.clock.advance(300)
    client.mutate((m) => m.insert('Note', { n }))
  }
  expect(first.state).toBe('synced')
})

test('a refusal is told soon, also where nothing is pushed', async () => {
  const { backend, device, client } = await oneNote()
  backend.push = () => {}
  await backend.remove('1')
  client.mutate((m) => m.update('Note', '1', { title: 'new' }), { label: 'Rename' })
  await backend.clock.advance(1_500)
  expect(device.log).toEqual(['rejected Rename not_found'])
})

test('a close in the moment of an answer leaves no timer behind', async () => {
  const { backend, client } = await oneNote({ echoTimeout: 60_000 })
  backend.push = () => {}
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  let closed: Promise<void> | undefined
  tx.subscribe(({ state }) => {
    if (state === 'accepted') closed = client.close()
  })
  await backend.clock.until(tx.accepted)
  await closed
  await backend.service.close()
  await backend.clock.advance(1_000)
  expect(backend.clock.timers).toBe(0)
})

test('what a push shows is no longer counted as pending in that moment', async () => {
  const { backend, client } = await oneNote()
  backend.push = (message, send) => void backend.clock.after(500, () => send(message))
  const tx = client.mutate((m) => m.update('Note', '1', { title: 'new' }))
  const pending: number[] = []
  tx.synced.then(() => pending.push(client.status.writes.pending))
  await backend.clock.advance(900)
  expect(pending).toEqual([0])
})

test('what the data shows before the answer comes is over with the answer, and nothing is fetched for it', async () => {
  const { backend, client } = await oneNote()
  let fetches = 0
  backend.intercept = async (request, pass) => {
    const response = await pass()
    if (!request.url.endsWith('/tx')) fetches += 1
    await new Promise<void>((resolve) => void backend.clock.after(500, resolve))
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
