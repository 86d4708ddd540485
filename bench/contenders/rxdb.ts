import { createRxDatabase, type RxCollection, type RxJsonSchema } from 'rxdb'
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie'
import type { Contender, Delta, Row } from './contender.ts'

const types = ['Issue', 'Comment', 'Project', 'User', 'Label']

interface Doc {
  id: string
  title: string
  status: string
  projectId: string
  createdAt: number
  points: number
  done: boolean
  text: string
}

const schema: RxJsonSchema<Doc> = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 20 },
    title: { type: 'string' },
    status: { type: 'string', maxLength: 10 },
    projectId: { type: 'string' },
    createdAt: { type: 'number', minimum: 0, maximum: 4_000_000_000_000, multipleOf: 1 },
    points: { type: 'number' },
    done: { type: 'boolean' },
    text: { type: 'string' },
  },
  required: ['id', 'status', 'createdAt'],
  indexes: [['status', 'createdAt']],
}

let collections: Promise<{ readonly [t: string]: RxCollection<Doc> }> | undefined

function open() {
  collections ??= createRxDatabase({ name: 'bench', storage: getRxStorageDexie() }).then((database) =>
    database.addCollections(Object.fromEntries(types.map((t) => [t.toLowerCase(), { schema }]))),
  )
  return collections
}

async function upsert(rows: readonly Row[]) {
  const all = await open()
  for (const t of types) {
    const docs = rows.filter((row) => row.t === t).map(({ id, p }) => ({ ...p, id }) as Doc)
    if (docs.length > 0) await all[t.toLowerCase()]?.bulkUpsert(docs)
  }
}

export const contender: Contender = {
  async firstSync(url) {
    const { rows }: { rows: Row[] } = await (await fetch(`${url}/bootstrap`)).json()
    const all = await open()
    for (const t of types) {
      const docs = rows.filter((row) => row.t === t).map(({ id, p }) => ({ ...p, id }) as Doc)
      await all[t.toLowerCase()]?.bulkInsert(docs)
    }
  },
  async startUp() {
    const all = await open()
    let count = 0
    for (const t of types) count += (await all[t.toLowerCase()]?.find().exec())?.length ?? 0
    return count
  },
  async delta(text) {
    const { frames }: Delta = JSON.parse(text)
    const all = await open()
    const rows: Row[] = []
    for (const t of types) {
      const own = frames.filter((frame) => frame.t === t)
      if (own.length === 0) continue
      const old = await all[t.toLowerCase()]?.findByIds(own.map(({ id }) => id)).exec()
      for (const { id, p } of own) rows.push({ t, id, p: { ...old?.get(id)?.toJSON(), ...p } })
    }
    await upsert(rows)
  },
  async watch(told) {
    const { issue } = await open()
    await new Promise<void>((resolve) => {
      issue
        ?.find({ selector: { status: 'open' }, sort: [{ createdAt: 'desc' }], limit: 50 })
        .$.subscribe(() => {
          resolve()
          told()
        })
    })
  },
}
