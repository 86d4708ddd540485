import { expect, test } from 'vitest'
import { Office } from '../support/office.ts'

test('a logger that throws, told of a listener that threw, neither stops a client nor silences its status', async () => {
  const office = await Office.open()
  const fails = () => {
    throw new Error('No log.')
  }
  const client = office.desk().client({ logger: { debug() {}, info() {}, warn() {}, error: fails } })
  let heard = 0
  client.on('status', () => {
    heard += 1
    if (heard === 1) throw new Error('A listener.')
  })
  await client.start().catch(() => {})
  await office.clock.advance(2_000)
  expect([client.status.data.state, heard > 1]).toEqual(['current', true])
})
