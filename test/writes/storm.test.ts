import { memoryStore } from 'instep'
import { expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'

const answers: readonly (readonly [string, (body: string) => Response])[] = [
  [
    'gives no answer',
    () => {
      throw new TypeError('Failed to fetch')
    },
  ],
  [
    'answers as for another user',
    (body) => Response.json({ sid: 2, caller: 'bob', results: [{ id: JSON.parse(body).txs[0].id, sid: 2 }] }),
  ],
]

test.each(answers)('a server that answers reads, but %s to writes, is asked seldom', async (_, answer) => {
  const server = ownServer()
  await server.write([{ op: 'i', t: 'Item', id: 'i1', p: { title: 'old' } }], 'ada')
  const { fetch } = server.environment
  const wait = (ms: number) => new Promise<void>((resolve) => server.clock.after(ms, resolve))
  let posts = 0
  const client = server.client({
    identity: 'ada',
    store: memoryStore(),
    environment: {
      fetch: async (url, init) => {
        const isWrite = url.endsWith('/tx')
        await wait(isWrite ? 30 : 700)
        if (!isWrite) return fetch(url, init)
        posts += 1
        return answer(String(init.body))
      },
    },
  })
  await client.start()
  await server.clock.advance(5_000)
  client.mutate((m) => m.update('Item', 'i1', { title: 'mine' }))
  await server.clock.advance(600_000)
  expect(posts).toBeGreaterThan(5)
  expect(posts).toBeLessThan(80)
})
