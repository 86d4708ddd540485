import type { SyncClient } from '../../src/index.ts'
import { at, type Desk, type Intercept, Office } from './office.ts'

/** Inserts a note. */
export const add = (client: SyncClient, id: string, label = id) =>
  client.mutate((m) => m.insert('Note', { id }), { label })

/** Ids in the order in which their transactions are made. */
export const names = (count: number) =>
  Array.from({ length: count }, (_, n) => `n${String(n).padStart(3, '0')}`)

/** A client of an office without notes. */
export async function noNotes(
  options: Parameters<Desk['live']>[0] = {},
  service: Parameters<typeof Office.open>[0] = {},
) {
  const office = await Office.open(service)
  const desk = office.desk()
  return { office, desk, client: await desk.live(options) }
}

/** Counts the requests for transactions, and answers them with `answer`. */
export function counting(office: Office, answer: Intercept) {
  const times: number[] = []
  const sizes: number[] = []
  office.intercept = at('tx', async (request, pass) => {
    times.push(office.clock.now())
    sizes.push(JSON.parse(await request.clone().text()).txs.length)
    return answer(request, pass)
  })
  return { times, sizes }
}
