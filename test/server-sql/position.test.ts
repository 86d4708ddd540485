import { expect, test } from 'vitest'
import { toNumber } from '../../src/server/log/sql/int8.ts'
import { positionOf } from '../../src/server/log/sql/position.ts'

test('a database without its state is a fault, not an empty history', () => {
  expect(() => positionOf(undefined)).toThrow('restore it from a backup')
})

test('a sid that is not an exact number is a fault, and not rounded', () => {
  const row = { history: 'h', head: '9007199254740991', horizon: 0n, newest: '9007199254740991' }
  expect(positionOf(row)).toEqual({ history: 'h', head: Number.MAX_SAFE_INTEGER, horizon: 0 })
  for (const sid of ['9007199254740993', 9007199254740993n]) {
    expect(() => toNumber(sid)).toThrow(`The database returned ${sid} for a sid`)
  }
})

test('a head that differs from the newest change of the log is a fault, unless that change is forgotten', () => {
  const row = { history: 'h', head: 3, horizon: 0, newest: 3 }
  expect(positionOf(row)).toMatchObject({ head: 3 })
  expect(positionOf({ ...row, horizon: 3, newest: null })).toMatchObject({ head: 3 })
  expect(positionOf({ ...row, horizon: 3, newest: 2 })).toMatchObject({ head: 3 })
  for (const torn of [{ newest: 4 }, { newest: 2 }, { newest: null }, { horizon: 2, newest: null }]) {
    expect(() => positionOf({ ...row, ...torn })).toThrow('restore all tables')
  }
})
