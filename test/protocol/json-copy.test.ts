import { expect, test } from 'vitest'
import { copyPayload, isStorableName } from '../../src/protocol/json-copy.ts'

test('an object that occurs several times in a payload is copied each time', () => {
  const shared = { n: 1 }
  expect(copyPayload({ a: shared, b: [shared, shared] })).toEqual({
    payload: { a: { n: 1 }, b: [{ n: 1 }, { n: 1 }] },
  })
})

test('a payload that would be larger as JSON than any service accepts is refused quickly', () => {
  let value: unknown = 1
  for (let level = 0; level < 30; level += 1) value = { a: value, b: value }
  expect(copyPayload({ small: 1, large: value })).toEqual({
    fault: { path: 'large', what: 'holds more than 500000 values' },
  })
})

test('-0 becomes 0, as in JSON', () => {
  const copied = copyPayload({ n: -0 })
  expect('payload' in copied && Object.is(copied.payload.n, 0)).toBe(true)
})

test('a payload with the maximum number of values is copied, and one with more is refused', () => {
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

test('an error that a getter throws is thrown on unchanged', () => {
  const thrown = new Error('Mine.')
  const fields = {
    get title() {
      throw thrown
    },
  }
  expect(() => copyPayload(fields)).toThrow(thrown)
})

test('the time to copy a value does not grow with its depth', () => {
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
