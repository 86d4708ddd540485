import { expect, test } from 'vitest'
import { copyPayload, isStorableName } from '../../src/protocol/json-copy.ts'

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

test('as many values as a payload may hold are copied, and one more is refused', () => {
  // The list itself is one of them.
  const list = Array<number>(499_999).fill(0)
  expect('payload' in copyPayload({ list })).toBe(true)
  expect(copyPayload({ list, n: 1 })).toMatchObject({ fault: { path: 'n' } })
})

test('a name is stored up to 255 characters', () => {
  expect(isStorableName('x'.repeat(255))).toBe(true)
  expect(isStorableName('x'.repeat(256))).toBe(false)
})

test.each([
  ['a Date', new Date(0), 'is a Date, which'],
  ['a Map', new Map(), 'is a Map, which'],
  ['what has no constructor', Object.assign(Object.create(null), { toJSON: 1 }), 'is a class, which'],
])('the fault of %s names its class', (_, value, what) => {
  expect(copyPayload({ value })).toMatchObject({ fault: { what: expect.stringContaining(what) } })
})

test('what a getter throws is no fault of the payload, and is given on', () => {
  const thrown = new Error('Mine.')
  const fields = {
    get title() {
      throw thrown
    },
  }
  expect(() => copyPayload(fields)).toThrow(thrown)
})

test('a value costs no more the deeper it is', () => {
  let value: unknown = Array.from({ length: 1_000 }, () => [])
  for (let level = 0; level < 400; level += 1) value = [value]
  const iterate = Array.prototype[Symbol.iterator]
  let copied = 0
  Array.prototype[Symbol.iterator] = function (this: unknown[]) {
    copied += this.length
    return iterate.call(this)
  }
  const result = copyPayload({ value })
  Array.prototype[Symbol.iterator] = iterate
  expect(result).toEqual({ payload: { value } })
  expect(copied).toBeLessThan(1_000)
})
