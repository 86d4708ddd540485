import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPush } from '../../src/protocol/push.ts'
import { helloSchema } from '../../src/protocol/schema/hello.ts'
import { mutilated, parsedJson } from '../support/arbitraries.ts'

const read = (value: unknown) => readPush(JSON.stringify(value))

test('a hello is recognized, and its fields of a wrong type are ignored', () => {
  expect(read({ hello: { sid: 3, epoch: 'e', caller: 'c', heartbeatMs: 'x' } })).toEqual({
    kind: 'hello',
    hello: { sid: 3, epoch: 'e', caller: 'c' },
  })
})

test('a hello with an infinite heartbeatMs counts as one without a heartbeat, since silence would never be noticed', () => {
  expect(readPush('{"hello":{"sid":3,"heartbeatMs":1e999}}')).toEqual({ kind: 'hello', hello: { sid: 3 } })
})

test('a hello with heartbeatMs 0 counts as one without a heartbeat', () => {
  expect(read({ hello: { sid: 3, heartbeatMs: 0 } })).toEqual({ kind: 'hello', hello: { sid: 3 } })
})

test('the reader accepts exactly the hellos that the schema accepts', () => {
  const features = fc.array(fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.integer()))
  const names = { epoch: fc.string(), caller: fc.string(), features }
  const fields = { sid: fc.integer(), ...names, heartbeatMs: fc.integer({ min: -5 }) }
  const known = fc.record(fields, { requiredKeys: [] })
  const some = fc.record({
    hello: fc.oneof(known, mutilated(known, ['sid', 'epoch', 'caller', 'features', 'heartbeatMs'])),
  })
  fc.assert(
    fc.property(fc.oneof(parsedJson, some), (value) => {
      const push = read(value)
      const parsed = helloSchema.safeParse(JSON.parse(JSON.stringify(value)))
      expect(push.kind === 'hello' ? push.hello : undefined).toEqual(
        parsed.data && JSON.parse(JSON.stringify(parsed.data.hello)),
      )
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  [{ event: 'changed' }],
  [[]],
  [[1, 2]],
  ['text'],
  [null],
  [{ sid: 'x', frames: [] }],
  [{ hello: 1 }],
])('other JSON is a hint: %j', (value) => {
  expect(read(value)).toEqual({ kind: 'hint' })
})

test.each(['', 'ping', '{', new ArrayBuffer(2), undefined])(
  'a message that is not JSON is garbage',
  (data) => {
    expect(readPush(data)).toEqual({ kind: 'garbage' })
  },
)

test('reading a message never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(readPush(text)).toBeDefined()
    }),
  )
})
