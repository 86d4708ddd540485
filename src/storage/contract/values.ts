import type { StoreValue } from '../store.ts'
import { get, put, type StoreContractCase, same, withConnection } from './context.ts'

const parse = (text: string): StoreValue => JSON.parse(text)

const roundTrips: { readonly [what: string]: () => StoreValue } = {
  'null, booleans and numbers': () => [null, true, false, 0, -1, 1.5, Number.MAX_SAFE_INTEGER, 5e-324, 1e308],
  'strings of any code units': () => [
    '',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\udfff\ud800',
    '😀',
    '\u2028',
    '"\\',
  ],
  'nested arrays and objects': () => ({ a: [{ b: [[]] }, {}], '': { '': 1 } }),
  "fields named like JavaScript's own": () =>
    parse('{"__proto__": {"a": 1}, "constructor": 1, "toString": null, "hasOwnProperty": []}'),
  '500 levels of arrays': () => parse('['.repeat(500) + ']'.repeat(500)),
  '500 levels of objects': () => parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`),
  'a text of a million characters': () => 'a'.repeat(1_000_000),
  'a text of a million characters outside Latin-1': () => '\u4e00\ud800'.repeat(500_000),
  'ten thousand fields': () => Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`f${n}`, n])),
}

/** Cases for values: they are read back equal, and as copies. */
export const valueCases: readonly StoreContractCase[] = [
  ...Object.entries(roundTrips).map(([what, make]) =>
    withConnection(`${what} come back equal`, async (connection) => {
      await put(connection, { key: make() })
      same(await get(connection, 'key'), make(), what)
    }),
  ),

  withConnection('a value stored is a copy', async (connection) => {
    const value = { list: [1] }
    await connection.transaction({ tables: ['meta'], mode: 'write' }, async (tx) => {
      tx.put('meta', 'key', value)
      value.list.push(2)
    })
    same(await get(connection, 'key'), { list: [1] }, 'the stored state')
  }),

  withConnection('a value read is a copy', async (connection) => {
    await put(connection, { key: { list: [1] } })
    const got = (await get(connection, 'key')) as { list: number[] }
    got.list.push(2)
    const [other] = (await connection.transaction({ tables: ['meta'], mode: 'read' }, (tx) =>
      tx.values('meta'),
    )) as { list: number[] }[]
    same(other, { list: [1] }, 'the stored state')
    other?.list.push(2)
    same(await get(connection, 'key'), { list: [1] }, 'the stored state')
  }),

  withConnection('a key that is missing gives undefined, and null is a value', async (connection) => {
    await put(connection, { key: null })
    same((await get(connection, 'key')) === null, true, 'a stored null')
    same((await get(connection, 'missing')) === undefined, true, 'a missing key')
  }),

  withConnection('a put replaces', async (connection) => {
    await put(connection, { key: { a: 1 } })
    await put(connection, { key: { b: 2 } })
    same(await get(connection, 'key'), { b: 2 }, 'the stored state')
  }),
]
