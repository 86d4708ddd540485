import type { Transaction } from '../../src/index.ts'
import { type Desk, Office } from './office.ts'

/** An office with one note, and a client that has it. */
export async function oneNote(options: Parameters<Desk['live']>[0] = {}) {
  const office = await Office.open()
  await office.insert('1', { title: 'Milk', n: 1 })
  const desk = office.desk()
  return { office, desk, client: await desk.live(options) }
}

/** The note, which somebody else has changed since this client saw it, and an update that asks for the conflict. */
export async function conflict(options: Parameters<Desk['live']>[0] = {}) {
  const { office, desk, client } = await oneNote(options)
  desk.network.cut()
  const tx: Transaction = client.mutate(
    (m) => m.update('Note', '1', { title: 'mine' }, { ifUnchanged: true }),
    {
      label: 'Rename',
    },
  )
  await office.update('1', { title: 'theirs', n: 2 })
  desk.network.mend()
  await office.clock.advance(60_000)
  return { office, desk, client, tx }
}
