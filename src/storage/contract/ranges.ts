import type { KeyRange, KeySpan, StoreConnection } from '../store.ts'
import { keys, type StoreContractCase, same, withConnection, write } from './context.ts'

/** The keys in the order of their code units. */
const stored = ['0', '1', '10', '2', 'A', 'B', 'a', 'a/1', 'a/2', 'a0', 'b', 'z'] as const

const ranges: readonly (readonly [range: KeyRange, keys: readonly string[]])[] = [
  [{}, stored],
  [{ from: 'a' }, ['a', 'a/1', 'a/2', 'a0', 'b', 'z']],
  [{ to: '2' }, ['0', '1', '10']],
  [{ from: 'a/', to: 'a0' }, ['a/1', 'a/2']],
  [{ from: '10', to: '11' }, ['10']],
  [{ from: '3', to: '9' }, []],
  [{ from: 'a', to: 'a' }, []],
  [{ from: 'b', to: 'a' }, []],
  [{ from: 'zz' }, []],
  [{ limit: 3 }, ['0', '1', '10']],
  [{ limit: 0 }, []],
  [{ from: 'a', limit: 2 }, ['a', 'a/1']],
  [{ limit: 100 }, stored],
  [{ reverse: true }, [...stored].reverse()],
  [{ reverse: true, limit: 1 }, ['z']],
  [{ reverse: true, limit: 0 }, []],
  [{ reverse: true, to: 'z', limit: 2 }, ['b', 'a0']],
  [{ reverse: true, from: 'a', to: 'b' }, ['a0', 'a/2', 'a/1', 'a']],
]

const spans: readonly KeySpan[] = [
  {},
  { from: 'a' },
  { to: '2' },
  { from: 'a/', to: 'a0' },
  { from: 'b', to: 'a' },
]

async function fill(connection: StoreConnection): Promise<void> {
  await write(
    connection,
    async (tx) => {
      for (const key of [...stored].sort(() => -1)) tx.put('pages', key, { key })
      tx.put('journal', 'other', 1)
    },
    { tables: ['pages', 'journal'] },
  )
}

/** Cases for ranges: keys are ordered by code units. */
export const rangeCases: readonly StoreContractCase[] = [
  withConnection('keys and values give a range in order', async (connection) => {
    await fill(connection)
    for (const [range, expected] of ranges) {
      const [found, values] = await connection.transaction({ tables: ['pages'], mode: 'read' }, (tx) =>
        Promise.all([tx.keys('pages', range), tx.values('pages', range)]),
      )
      const what = JSON.stringify(range)
      same(found, expected, `the keys of ${what}`)
      same(
        values,
        expected.map((key) => ({ key })),
        `the values of ${what}`,
      )
    }
  }),

  ...spans.map((span) =>
    withConnection(`a deletion of ${JSON.stringify(span)} removes what is in it`, async (connection) => {
      await fill(connection)
      const options = { tables: ['pages'] } as const
      const [before, inside] = await write(
        connection,
        async (tx) => {
          const found = await Promise.all([tx.keys('pages'), tx.keys('pages', span)])
          tx.delete('pages', span)
          return found
        },
        options,
      )
      const left = before.filter((key) => !inside.includes(key))
      same(await keys(connection, 'pages'), left, 'what is left')
      same(await keys(connection, 'journal'), ['other'], 'what is in another table')
    }),
  ),

  withConnection('a deletion of a key removes that key', async (connection) => {
    await fill(connection)
    await write(
      connection,
      async (tx) => {
        tx.delete('pages', 'a')
        tx.delete('pages', 'missing')
      },
      { tables: ['pages'] },
    )
    same(
      await keys(connection, 'pages'),
      stored.filter((key) => key !== 'a'),
      'what is left',
    )
  }),
]
