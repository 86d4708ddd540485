import { expect, test } from 'vitest'
import { createSyncService } from '../../src/server/index.ts'
import { insert, remove, update } from './harness.ts'
import { make, put, tx, txServiceOf } from './tx-support.ts'

const of = (length: number, unit = 'x') => unit.repeat(length)

test('invariant 54: updates that make a record too long for clients are rejected as too_large', async () => {
  const { send, codeOf, json } = txServiceOf()
  await send([tx('a', [make('1')])])
  const growing = (field: string) => codeOf(update('1', { [field]: of(300_000) }))
  const codes = [await growing('a'), await growing('b'), await growing('c'), await growing('d')]
  expect(codes).toEqual(['accepted', 'accepted', 'accepted', 'too_large'])
  const { rows } = await json('bootstrap')
  expect(JSON.stringify(rows).length).toBeLessThan(1_048_576)
})

test('a record is measured in bytes, and the maximum length is accepted', async () => {
  const { codeOf } = txServiceOf({ maxRecordBytes: 100 })
  const room = 100 - JSON.stringify({ text: '', userId: 'ann' }).length
  expect(await codeOf(make('1', { text: of(room) }))).toBe('accepted')
  expect(await codeOf(put('1', { text: of(room + 1) }))).toBe('too_large')
  expect(await codeOf(put('1', { text: of(room / 2, 'ü') }))).toBe('accepted')
  expect(await codeOf(put('1', { text: `${of(room / 2, 'ü')}x` }))).toBe('too_large')
})

test('a transaction with a record that is too long changes nothing', async () => {
  const { codes, json } = txServiceOf({ maxRecordBytes: 100 })
  expect(await codes([tx('a', [make('1'), make('2', { text: of(100) })])])).toEqual(['too_large'])
  expect((await json('bootstrap')).rows).toEqual([])
})

test('the maximum length also applies to writes of the service', async () => {
  const { service } = txServiceOf({ maxRecordBytes: 100 })
  await expect(service.write([insert('1', { text: of(100) })])).rejects.toMatchObject({ reason: 'too_large' })
})

test('a record that is too long already can get shorter, and be removed', async () => {
  const { log, codeOf } = txServiceOf({ maxRecordBytes: 100 })
  const p = { userId: 'ann', a: of(200), b: of(100) }
  for (const id of ['1', '2']) {
    await log.write([{ op: 'i', t: 'Todo', id, p }], () => ({
      after: { owner: 'ann', p },
      changes: [{ owner: 'ann', change: { op: 'i', p } }],
    }))
  }
  expect(await codeOf(update('1', { b: of(101) }))).toBe('too_large')
  expect(await codeOf(update('1', { b: of(100) }))).toBe('too_large')
  expect(await codeOf(update('1', { b: of(99) }))).toBe('accepted')
  expect(await codeOf(update('1', { a: null, b: null }))).toBe('accepted')
  expect(await codeOf(remove('2'))).toBe('accepted')
})

test('a removal in a transaction makes room for its later ops, to the byte', async () => {
  const { codeOf, codes } = txServiceOf({ maxRecordBytes: 100 })
  const room = 100 - JSON.stringify({ userId: 'ann', c: '' }).length
  expect(await codeOf(make('1', { userId: 'ann', a: 'ü' }))).toBe('accepted')
  const ops = (length: number) => [
    update('1', { b: of(20) }),
    { ...update('1', {}), unset: ['a', 'b', 'x'] },
    update('1', { c: of(length) }),
  ]
  expect(await codes([tx('a', ops(room + 1)), tx('b', ops(room))])).toEqual(['too_large', 'accepted'])
})

test('a short transaction cannot send a long record too often', async () => {
  const { codeOf, codes } = txServiceOf()
  expect(await codeOf(make('1', { text: of(1_000_000) }))).toBe('accepted')
  const again = (count: number) =>
    Array.from({ length: count }, () => [update('1', { n: 1 }), { ...update('1', {}), unset: ['n'] }]).flat()
  expect(await codes([tx('a', again(17)), tx('b', again(16))])).toEqual(['too_large', 'accepted'])
})

test.each([0, Number.NaN, 16 * 2 ** 20])('a limit of %d is refused', (maxRecordBytes) => {
  const options = { database: 'memory:', authenticate: async () => null, ownerField: 'userId' } as const
  expect(() => createSyncService({ ...options, maxRecordBytes })).toThrow('maxRecordBytes')
})
