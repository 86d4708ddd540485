import type { SyncClient } from '../../src/index.ts'
import { at, type Intercept, type TestBackend } from './test-backend.ts'

/** Inserts a note. */
export const add = (client: SyncClient, id: string, label = id) =>
  client.mutate((m) => m.insert('Note', { id }), { label })

/** Ids in the order in which their transactions are made. */
export const names = (count: number) =>
  Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)

/** Counts the requests for transactions, and answers them with `answer`. */
export function counting(backend: TestBackend, answer: Intercept) {
  const times: number[] = []
  const sizes: number[] = []
  backend.intercept = at('tx', async (request, pass) => {
    times.push(backend.clock.now())
    sizes.push(JSON.parse(await request.clone().text()).txs.length)
    return answer(request, pass)
  })
  return { times, sizes }
}
