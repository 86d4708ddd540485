import { expect, test } from 'vitest'
import { at, failure, type Message, notes } from '../support/office.ts'
import { oneNote } from '../support/one-note.ts'

/** `message`, as if it were about a record that is not here. */
function misled(message: Message): Message {
  return { ...message, frames: (message.frames ?? []).map((frame) => ({ ...frame, id: 'nobody' })) }
}

test('invariant 18: what was accepted stays on the disk as long as the data there does not show it', async () => {
  const { office, desk, client } = await oneNote()
  // The change leads to a repair, and until that has succeeded nothing of the data is stored.
  office.intercept = at('bootstrap', async () => failure(500))
  office.push = (message, send) => send(misled(message))
  await office.update('1', { title: 'Bread' })
  await office.clock.advance(500)
  office.push = (message, send) => send(message)
  const tx = client.mutate((m) => m.update('Note', '1', { n: 2 }))
  await office.clock.advance(20_000)
  expect([tx.state, notes(client)]).toEqual(['synced', { 1: { title: 'Milk', n: 2 } }])
  await desk.kill()
  desk.network.cut()
  const again = desk.client()
  await office.clock.until(again.start())
  expect(notes(again)).toEqual({ 1: { title: 'Milk', n: 2 } })
})
