import { expect, test } from 'vitest'
import { GrowingBytes } from '../../src/base/growing-bytes.ts'

const bytesOf = (...pieces: readonly (readonly number[])[]) => {
  const bytes = new GrowingBytes()
  for (const piece of pieces) bytes.append(Uint8Array.from(piece))
  return bytes
}

test('pieces are one behind the other, those without a byte included', () => {
  const bytes = bytesOf([1], [], [2, 3], [4, 5, 6, 7, 8, 9], [10])
  expect([...bytes.all]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(bytes.length).toBe(10)
})

test('what is truncated makes room for what comes', () => {
  const bytes = bytesOf([1, 2, 3, 4])
  bytes.truncate(2)
  bytes.append(Uint8Array.of(9))
  expect([...bytes.all]).toEqual([1, 2, 9])
  bytes.truncate(100)
  expect(bytes.length).toBe(3)
  bytes.truncate(0)
  expect([...bytes.all]).toEqual([])
})

test('the room doubles, so that many small pieces are copied a few times', () => {
  const bytes = new GrowingBytes()
  const rooms = new Set<ArrayBufferLike>()
  for (let at = 0; at < 10_000; at += 1) {
    bytes.append(Uint8Array.of(at))
    rooms.add(bytes.all.buffer)
  }
  expect(rooms.size).toBeLessThan(20)
})
