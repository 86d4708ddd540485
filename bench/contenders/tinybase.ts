import { createQueries, createStore } from 'tinybase'
import { createIndexedDbPersister } from 'tinybase/persisters/persister-indexed-db'
import type { Contender, Delta, Row } from './contender.ts'

const types = ['Issue', 'Comment', 'Project', 'User', 'Label']
const store = createStore()
const persister = createIndexedDbPersister(store, 'bench')

export const contender: Contender = {
  async firstSync(url) {
    const { sid, rows }: { sid: number; rows: Row[] } = await (await fetch(`${url}/bootstrap`)).json()
    const tables: { [t: string]: { [id: string]: Row['p'] } } = {}
    for (const { t, id, p } of rows) {
      tables[t] ??= {}
      Object.assign(tables[t], { [id]: p })
    }
    store.setContent([tables, { sid }])
    await persister.save()
  },
  async startUp() {
    await persister.load()
    return types.reduce((sum, t) => sum + store.getRowCount(t), 0)
  },
  async delta(text) {
    const { sid, frames }: Delta = JSON.parse(text)
    store.transaction(() => {
      for (const { t, id, p } of frames) store.setPartialRow(t, id, p)
      store.setValue('sid', sid)
    })
    await persister.save()
  },
  async watch(told) {
    const queries = createQueries(store)
    queries.setQueryDefinition('open', 'Issue', ({ select, where }) => {
      select('createdAt')
      where('status', 'open')
    })
    queries.addResultSortedRowIdsListener('open', 'createdAt', true, 0, 50, told)
  },
}
