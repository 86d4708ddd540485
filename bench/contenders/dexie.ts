import Dexie, { liveQuery } from 'dexie'
import type { Contender, Delta, Row } from './contender.ts'

const types = ['Issue', 'Comment', 'Project', 'User', 'Label']
const database = new Dexie('bench')
database.version(1).stores({
  ...Object.fromEntries(types.map((t) => [t, t === 'Issue' ? 'id, [status+createdAt]' : 'id'])),
  meta: 'key',
})

export const contender: Contender = {
  async firstSync(url) {
    const { sid, rows }: { sid: number; rows: Row[] } = await (await fetch(`${url}/bootstrap`)).json()
    const byType = new Map<string, object[]>(types.map((t) => [t, []]))
    for (const { t, id, p } of rows) byType.get(t)?.push({ ...p, id })
    await database.transaction('rw', database.tables, async () => {
      for (const [t, records] of byType) await database.table(t).bulkPut(records)
      await database.table('meta').put({ key: 'sid', sid })
    })
  },
  async startUp() {
    let count = 0
    for (const t of types) count += (await database.table(t).toArray()).length
    return count
  },
  async delta(text) {
    const { sid, frames }: Delta = JSON.parse(text)
    await database.transaction('rw', database.tables, async () => {
      for (const t of types) {
        const own = frames.filter((frame) => frame.t === t)
        if (own.length === 0) continue
        const table = database.table(t)
        const old = await table.bulkGet(own.map(({ id }) => id))
        await table.bulkPut(own.map(({ id, p }, n) => ({ ...old[n], ...p, id })))
      }
      await database.table('meta').put({ key: 'sid', sid })
    })
  },
  async watch(told) {
    const newest = () =>
      database
        .table('Issue')
        .where('[status+createdAt]')
        .between(['open', Dexie.minKey], ['open', Dexie.maxKey])
        .reverse()
        .limit(50)
        .toArray()
    await new Promise<void>((resolve) => {
      liveQuery(newest).subscribe(() => {
        resolve()
        told()
      })
    })
  },
}
