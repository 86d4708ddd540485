import { mockSyncServer } from 'instep/testing'
import { expect, test } from 'vitest'

/** A server that rejects every write, and a client of Ada's. */
async function refusing() {
  const server = mockSyncServer({ authorize: () => ({ message: 'No.' }) })
  const client = server.client({ identity: 'ada' })
  await client.start()
  await server.settle()
  return { server, client }
}

test('a `rejected` listener that always retries is called less and less often, and ends', async () => {
  const { server, client } = await refusing()
  const times: number[] = []
  const errors: unknown[] = []
  client.on('rejected', ({ id }) => {
    times.push(server.clock.now())
    try {
      client.outbox.retry(id)
    } catch (error) {
      errors.push(error)
    }
  })
  client.mutate((m) => m.insert('Note', {}))
  await server.clock.advance(600_000)
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
  expect(times).toHaveLength(6)
  expect(gaps).toEqual([...gaps].sort((a, b) => a - b))
  expect(gaps.at(-1)).toBeGreaterThan(7_000)
  expect(errors).toMatchObject([{ name: 'ConfigurationError', option: 'retry' }])
  expect(client.status.writes).toMatchObject({ pending: 0, rejected: 1 })
  await server.close()
})

test('a user may retry as often as he likes', async () => {
  const { server, client } = await refusing()
  let rejected = ''
  client.on('rejected', ({ id }) => {
    rejected = id
  })
  client.mutate((m) => m.insert('Note', {}))
  for (let times = 0; times < 10; times += 1) {
    await server.clock.advance(3_000)
    client.outbox.retry(rejected)
    rejected = ''
  }
  await server.clock.advance(3_000)
  expect(rejected).not.toBe('')
  await server.close()
})

test('a delayed `rejected` event is not lost when the client stops', async () => {
  const { server, client } = await refusing()
  const ids: string[] = []
  client.on('rejected', ({ id }) => {
    if (ids.push(id) === 1) client.outbox.retry(id)
  })
  client.mutate((m) => m.insert('Note', {}))
  await server.clock.advance(400)
  expect(client.status.writes.rejected).toBe(1)
  await server.clock.until(client.stop())
  expect(ids).toHaveLength(2)
  await server.close()
})
