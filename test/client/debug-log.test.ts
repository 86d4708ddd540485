import { expect, test } from 'vitest'
import { silentLogger } from '../../src/index.ts'
import { TestBackend } from '../support/test-backend.ts'

/** The debug log of a client from its start until one write is synced. */
async function logOfOneWrite() {
  const backend = new TestBackend()
  const device = backend.device()
  const lines: string[] = []
  const client = device.client({
    logger: {
      ...silentLogger,
      debug: (line, fields) => lines.push(`${line} ${JSON.stringify(fields ?? {})}`),
    },
  })
  await client.start()
  await backend.clock.advance(1_000)
  const start = lines.splice(0)
  const tx = client.mutate((m) => m.insert('Note', { id: '1', title: 'private text' }))
  await backend.clock.until(tx.synced)
  await backend.clock.advance(1_000)
  return { start, write: lines, token: device.token }
}

test('the debug log shows states, requests, store transactions and pushes of a start', async () => {
  const { start } = await logOfOneWrite()
  for (const line of ['fetch: start → fetching', 'socket: opened → open', 'snapshot', 'push: hello'])
    expect(start.join('\n')).toContain(line)
  expect(start.join('\n')).toMatch(/bootstrap: 200 \{"ms":\d+\}/)
  expect(start.join('\n')).toMatch(/store: write [a-z, ]+ \{"ms":\d+\}/)
})

test('the debug log shows the states of a write in their order', async () => {
  const { write } = await logOfOneWrite()
  const states = write.flatMap((line) => /^transaction: (\w+)/.exec(line)?.[1] ?? [])
  expect(states).toEqual(['queued', 'sending', 'accepted', 'synced'])
})

test('the debug log has neither tokens nor fields of records', async () => {
  const { start, write, token } = await logOfOneWrite()
  const text = [...start, ...write].join('\n')
  expect(text).not.toContain(token)
  expect(text).not.toContain('private')
})
