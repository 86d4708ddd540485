import type { SyncClient } from '../../src/index.ts'
import { at, type Intercept, TestBackend, type TestDevice } from './test-backend.ts'

/** Inserts a note. */
export const add = (client: SyncClient, id: string, label = id) =>
  client.mutate((m) => m.insert('Note', { id }), { label })

/** Ids in the order in which their transactions are made. */
export const names = (count: number) =>
  Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)

/** A client of an backend without notes. */
export async function noNotes(
  options: Parameters<TestDevice['live']>[0] = {},
  service: Parameters<typeof TestBackend.open>[0] = {},
) {
  const backend = await TestBackend.open(service)
  const device = backend.device()
  return { backend, device, client: await device.live(options) }
}

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
