import { describe, expect, test } from 'vitest'
import { remainingOp } from '../../src/protocol/remaining-op.ts'

const issue = { t: 'Issue', id: 'i1' }
const left = (op: object, p?: object) => remainingOp({ ...issue, ...op } as never, p as never)

describe('the remaining op', () => {
  test('is the whole op without `was`', () => {
    const op = { ...issue, op: 'u', p: { a: 1 }, unset: ['b'] } as const
    expect(remainingOp(op, undefined)).toBe(op)
  })

  test('has the fields that still have their value in `was`, and those that `was` does not name', () => {
    const op = { op: 'u', p: { a: 1, b: 2, c: 3 }, was: { a: 0, b: 0 } }
    expect(left(op, { a: 0, b: 9, c: 9 })).toEqual({ ...issue, op: 'u', p: { a: 1, c: 3 } })
  })

  test('removes the fields that still have their value in `was`', () => {
    const op = { op: 'u', p: {}, unset: ['a', 'b', 'c', 'd'], was: { a: 0, b: 0 } }
    expect(left(op, { a: 0, b: 9, c: 9 })).toEqual({ ...issue, op: 'u', p: {}, unset: ['a', 'c'] })
  })

  test.each([
    ['an update without a field that holds', { op: 'u', p: { a: 1 }, was: { a: 0 } }, { a: 9 }],
    ['an update that removes what is missing', { op: 'u', p: {}, unset: ['a'], was: { a: null } }, {}],
    ['an update of no record', { op: 'u', p: { a: 1 }, was: {} }, undefined],
    ['a removal with a field that does not hold', { op: 'd', was: { a: 0, b: 0 } }, { a: 0, b: 9 }],
    [
      'a removal of a whole record with another field',
      { op: 'd', was: { a: 0 }, whole: true },
      { a: 0, b: 9 },
    ],
    ['a removal of no record', { op: 'd', was: {} }, undefined],
    ['an insert of a record that is there', { op: 'i', p: {}, was: null }, {}],
  ])('is empty for %s', (_, op, p) => {
    expect(left(op, p)).toBeUndefined()
  })

  test.each([
    ['a removal if all fields hold', { op: 'd' }, { a: 0, b: { x: 1, y: 2 } }, { a: 0, b: { y: 2, x: 1 } }],
    ['an insert if there is no record', { op: 'i', p: { a: 1 } }, null, undefined],
  ])('is %s', (_, op, was, p) => {
    expect(left({ ...op, was }, p)).toEqual({ ...issue, ...op })
  })

  test('is a removal of a whole record if it has no other field', () => {
    const op = { op: 'd', was: { a: 0, b: null }, whole: true }
    expect(left(op, { a: 0, c: null })).toEqual({ ...issue, op: 'd' })
  })

  test.each(['a', 'constructor'])('takes a missing field `%s` for null', (field) => {
    const op = { op: 'u', p: { [field]: 1 }, was: { [field]: null } }
    expect(left(op, { b: 1 })).toEqual({ ...issue, op: 'u', p: { [field]: 1 } })
  })
})
