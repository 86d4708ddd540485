import { expect, test } from 'vitest'
import { TestBackend } from '../support/test-backend.ts'

test('a logger that throws does not stop a client', async () => {
  const backend = new TestBackend()
  const fails = () => {
    throw new Error('No log.')
  }
  const client = backend.device().client({ logger: { debug() {}, info() {}, warn() {}, error: fails } })
  let heard = 0
  client.on('status', () => {
    heard += 1
    if (heard === 1) throw new Error('A listener.')
  })
  await client.start().catch(() => {})
  await backend.clock.advance(2_000)
  expect([client.status.data.state, heard > 1]).toEqual(['current', true])
})
