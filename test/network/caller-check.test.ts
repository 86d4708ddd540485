import { expect, test } from 'vitest'
import { CallerCheck } from '../../src/network/caller-check.ts'

const token = (value: string) => ({ scheme: 'bearer' as const, value })
const errorOf = (body: () => void) => {
  try {
    body()
  } catch (error) {
    return error
  }
}

test('the first caller is accepted, and every other one refused; a response without a caller is ignored', () => {
  const check = new CallerCheck()
  expect(check.isOther(undefined)).toBe(false)
  expect(check.isOther('ada')).toBe(false)
  expect(check.isOther('bob')).toBe(true)
  expect(check.isOther(undefined)).toBe(false)
  expect(check.caller).toBe('ada')
})

test('another caller causes one error until the right one is back', () => {
  const check = new CallerCheck()
  check.check('ada')
  const first = errorOf(() => check.check('bob'))
  expect(first).toMatchObject({ name: 'UnauthenticatedError', code: 'other_user', retryable: false })
  expect(errorOf(() => check.check('cid'))).toBe(first)
  check.check(undefined)
  expect(errorOf(() => check.check('bob'))).toBe(first)
  check.check('ada')
  expect(errorOf(() => check.check('bob'))).not.toBe(first)
})

test('once the caller is known, a new credential needs a read first', () => {
  const check = new CallerCheck()
  expect(check.needsRead(token('one'))).toBe(false)
  check.checkRead('ada', token('one'))
  expect(check.needsRead(token('one'))).toBe(false)
  expect(check.needsRead(token('two'))).toBe(true)
  expect(errorOf(() => check.checkRead('bob', token('two')))).toMatchObject({ code: 'other_user' })
  expect(check.needsRead(token('two'))).toBe(true)
  expect(check.needsRead(token('one'))).toBe(true)
})

test('with cookies, a read is needed each time', () => {
  const check = new CallerCheck()
  check.checkRead('ada', undefined)
  expect(check.needsRead(undefined)).toBe(true)
})
