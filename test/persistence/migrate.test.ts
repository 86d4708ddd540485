import { describe, expect, test } from 'vitest'
import { StorageError } from '../../src/base/errors.ts'
import { defineModels, type Migrations } from '../../src/models/models.ts'
import type { RowOp } from '../../src/protocol/fold.ts'
import type { WireRow } from '../../src/protocol/row.ts'
import type { TxOp } from '../../src/protocol/tx.ts'
import { memoryStore } from '../../src/storage/memory.ts'
import type { Store } from '../../src/storage/store.ts'
import { openDatabase } from '../support/database.ts'
import { name } from '../support/store-databases.ts'
import { VirtualClock } from '../support/virtual.ts'
import { watching } from '../support/watching-store.ts'

const open = (store: Store, version: number, migrate: Migrations = {}) =>
  openDatabase({ store, name, clock: new VirtualClock(), models: defineModels({}, { version, migrate }) })

const row = (id: string, p: WireRow['p']): WireRow => ({ t: 'Note', id, p })

/** What is restored, as one copy. */
async function read(store: Store, version: number, migrate?: Migrations) {
  const database = await open(store, version, migrate)
  const rows = new Map<string, unknown>()
  const ops: RowOp[] = []
  try {
    const restored = await database.restore({
      rows: (some) => {
        for (const { t, id, p } of some) rows.set(`${t} ${id}`, p)
      },
      ops: (some) => void ops.push(...some),
    })
    return restored && { sid: restored.sid, rows: Object.fromEntries(rows), ops, failure: restored.failure }
  } finally {
    database.close()
  }
}

/** Two rows of version 1, and a delta. */
async function stored(): Promise<Store> {
  const store = memoryStore()
  const database = await open(store, 1)
  const writer = await database.snapshot()
  const rows = [row('1', { name: 'Milk' }), row('2', { name: 'Bread' })]
  await writer.page({ text: JSON.stringify(rows), types: [['Note', 2]] })
  await writer.commit({ sid: 3, epoch: 'x' })
  const ops: RowOp[] = [
    { op: 'u', t: 'Note', id: '1', p: { name: 'Oat milk' } },
    { op: 'i', ...row('3', { name: 'Cake' }) },
    { op: 'd', t: 'Note', id: '2' },
  ]
  await database.append({ since: 3, sid: 6, ops })
  database.close()
  return store
}

const renamed = <T extends TxOp | WireRow>(value: T): T => {
  if (!('p' in value)) return value
  const { name: title = '', ...rest } = value.p
  return { ...value, p: { ...rest, title } }
}
const toTitle = { row: renamed, op: renamed }

describe('stored data of an older version', () => {
  test('is migrated, pages and journal, and stored in the new shape', async () => {
    const store = await stored()
    const migrated = { 'Note 1': { title: 'Oat milk' }, 'Note 3': { title: 'Cake' } }
    expect(await read(store, 2, { 2: toTitle })).toEqual({ sid: 6, rows: migrated, ops: [] })
    const never = () => {
      throw new Error('It is migrated already.')
    }
    expect(await read(store, 2, { 2: { row: never, op: never } })).toEqual({
      sid: 6,
      rows: migrated,
      ops: [],
    })
  })

  test('is returned even without room to store it, and leaves nothing half stored', async () => {
    const inner = await stored()
    let left = 0
    const store = watching(inner, ({ tables, mode }) => {
      if (mode === 'write' && tables.includes('journal') && left++ > 0)
        throw new StorageError('quota', 'Full.')
    })
    expect(await read(store, 2, { 2: toTitle })).toMatchObject({
      rows: { 'Note 1': { title: 'Oat milk' }, 'Note 3': { title: 'Cake' } },
      failure: { code: 'quota' },
    })
    const connection = await inner.open(name)
    const tables = ['pages'] as const
    const keys = await connection.transaction({ tables, mode: 'read' }, (tx) => tx.keys('pages'))
    expect(keys).toHaveLength(1)
    connection.close()
    expect(await read(inner, 1)).toMatchObject({ sid: 6, rows: { 'Note 1': { name: 'Milk' } } })
  })

  test('is returned even if nothing can be written', async () => {
    const inner = await stored()
    let opened = false
    const store = watching(inner, ({ mode }) => {
      if (mode === 'write' && opened) throw new StorageError('timeout', 'Late.')
      opened = true
    })
    expect(await read(store, 2, { 2: toTitle })).toMatchObject({
      rows: { 'Note 1': { title: 'Oat milk' } },
      failure: { code: 'timeout' },
    })
    expect(await read(inner, 1)).toMatchObject({ sid: 6, rows: { 'Note 1': { name: 'Milk' } } })
  })

  test('is migrated version by version; versions without a migration leave it unchanged', async () => {
    const store = await stored()
    const counted = (value: WireRow) => ({ ...value, t: 'Item', p: { ...value.p, n: 1 } })
    const moved = (op: TxOp): TxOp => ({ ...op, t: 'Item' })
    const migrate = { 2: toTitle, 4: { row: counted, op: moved } }
    expect(await read(store, 5, migrate)).toMatchObject({
      sid: 6,
      rows: { 'Item 1': { title: 'Oat milk', n: 1 }, 'Item 3': { title: 'Cake' } },
    })
  })

  test.each([
    ['gives nothing for a row', { row: () => undefined }],
    [
      'throws for a row',
      {
        row: () => {
          throw new Error('No.')
        },
      },
    ],
    ['gives nothing for an op', { op: () => undefined }],
  ])('is not used if the migration %s, and kept for another version', async (_, step) => {
    const store = await stored()
    await expect(read(store, 2, { 2: step })).rejects.toMatchObject({ code: 'unreadable' })
    expect(await read(store, 1)).toMatchObject({ sid: 6 })
    expect(await read(store, 2, { 2: toTitle })).toMatchObject({ sid: 6 })
  })
})

test('invariant 12: data of a newer version is not read by an older one, and kept for the newer', async () => {
  const store = await stored()
  await read(store, 2, { 2: toTitle })
  expect(await read(store, 1)).toBeUndefined()
  expect(await read(store, 2)).toMatchObject({ rows: { 'Note 1': { title: 'Oat milk' } } })
})
