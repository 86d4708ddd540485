import { expect, test } from 'vitest'
import { copyPayload } from '../../src/protocol/json-copy.ts'

test('what is shared inside a payload is copied as often as it is met', () => {
  const shared = { n: 1 }
  expect(copyPayload({ a: shared, b: [shared, shared] })).toEqual({
    payload: { a: { n: 1 }, b: [{ n: 1 }, { n: 1 }] },
  })
})

test('a payload that would be written out to more than any service takes is refused, and soon', () => {
  let value: unknown = 1
  for (let level = 0; level < 30; level += 1) value = { a: value, b: value }
  expect(copyPayload({ small: 1, large: value })).toEqual({
    fault: { path: 'large', what: 'holds more than 500000 values' },
  })
})

test('-0 is 0 at once, as it is once JSON has carried it', () => {
  const copied = copyPayload({ n: -0 })
  expect('payload' in copied && Object.is(copied.payload.n, 0)).toBe(true)
})
