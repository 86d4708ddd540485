import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSyncError } from '../../src/base/errors.ts'
import { readDelta } from '../../src/protocol/delta.ts'
import { readErrorBody } from '../../src/protocol/error-body.ts'
import { readFrame } from '../../src/protocol/frame.ts'
import { isDeeperThan, jsonEqual, maxDepth } from '../../src/protocol/json.ts'
import { readRow } from '../../src/protocol/row.ts'
import { errorBodySchema } from '../../src/protocol/schema/error-body.ts'
import { syncFrameSchema } from '../../src/protocol/schema/frame.ts'
import { wireRowSchema } from '../../src/protocol/schema/row.ts'
import { frame, mutilated, parsedJson, row } from '../support/arbitraries.ts'

describe('a row', () => {
  test('is read exactly if the schema accepts it', () => {
    fc.assert(
      fc.property(fc.oneof(parsedJson, row, mutilated(row)), (value) => {
        const read = readRow(value)
        const parsed = wireRowSchema.safeParse(value)
        expect(typeof read !== 'string').toBe(parsed.success)
        if (typeof read !== 'string' && parsed.success)
          expect(read).toMatchObject(withoutUndefined(parsed.data))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['no object', 'x'],
    ['no type', { id: '1', p: {} }],
    ['a number for an id', { t: 'a', id: 1, p: {} }],
    ['no payload', { t: 'a', id: '1' }],
    ['a null payload', { t: 'a', id: '1', p: null }],
    ['an array for a payload', { t: 'a', id: '1', p: [] }],
    ['the type __proto__', { t: '__proto__', id: '1', p: {} }],
    ['the id __proto__', { t: 'a', id: '__proto__', p: {} }],
    ['the field __proto__', { t: 'a', id: '1', p: JSON.parse('{"__proto__":{"polluted":1}}') }],
  ])('with %s is refused with a reason', (_, value) => {
    expect(readRow(value)).toMatch(/row/)
  })
})

describe('a frame', () => {
  test('is read exactly if the schema accepts it', () => {
    const extra = fc.constantFrom(5, 1.5, Number.POSITIVE_INFINITY, 'a', null)
    const extras = fc.record({ at: extra, tx: extra }, { requiredKeys: [] })
    const some = fc.tuple(frame(fc.integer()), extras).map(([one, more]) => ({ ...one, ...more }))
    fc.assert(
      fc.property(fc.oneof(parsedJson, some, mutilated(some)), (value) => {
        const read = readFrame(value)
        const parsed = syncFrameSchema.safeParse(value)
        expect(typeof read !== 'string').toBe(parsed.success)
        if (typeof read !== 'string' && parsed.success) expect(read).toEqual(withoutUndefined(parsed.data))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['no sid', { t: 'a', id: '1', op: 'd' }],
    ['a sid beyond 2^53', { sid: 2 ** 53, t: 'a', id: '1', op: 'd' }],
    ['an unknown op', { sid: 1, t: 'a', id: '1', op: 'x' }],
    ['a null payload', { sid: 1, t: 'a', id: '1', op: 'i', p: null }],
    ['the id __proto__', { sid: 1, t: 'a', id: '__proto__', op: 'd' }],
  ])('with %s is refused with a reason', (_, value) => {
    expect(readFrame(value)).toMatch(/frame/)
  })

  test('nested 100 000 levels deep is refused without a stack overflow', () => {
    const p = JSON.parse(`{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    expect(readFrame({ sid: 1, t: 'a', id: '1', op: 'i', p })).toMatch(/nests deeper/)
  })

  test('or a row may nest exactly as deep as the protocol allows', () => {
    const readOf = (levels: number) => {
      const p = JSON.parse(`{"x":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}`)
      const item = { sid: 1, t: 'a', id: '1', op: 'i', p }
      return [readFrame(item), ...readDelta({ sid: 1, rows: [item] }).broken].map((read) => typeof read)
    }
    expect([readOf(maxDepth), readOf(maxDepth + 1)]).toEqual([['object'], ['string', 'string']])
  })
})

describe('a delta', () => {
  const whole = { t: 'a', id: '1', v: 3, p: { x: 1 } }

  test('with `null` for an optional field is read as one without the field', () => {
    const bare = { epoch: null, since: null, at: null, tx: null }
    const { kind, frames } = readDelta({ ...bare, sid: 7, frames: null, rows: [{ ...whole, v: null }] })
    expect({ kind, frames }).toEqual({
      kind: 'row',
      frames: [{ op: 'i', sid: 7, t: 'a', id: '1', p: { x: 1 } }],
    })
    const removal = { sid: 7, t: 'a', id: '1', op: 'd' }
    expect(readDelta({ ...bare, sid: 7, rows: null, frames: [{ ...bare, ...removal, p: null }] })).toEqual({
      sid: 7,
      kind: 'frame',
      frames: [removal],
      broken: [],
    })
  })

  test('keeps its valid items, and the faults of the others, in order', () => {
    const ids = ['c', 'a', 'b']
    const whole = { t: 'a', p: {} }
    expect(
      readDelta({ sid: 7, rows: ids.map((id) => ({ ...whole, id })) }).frames.map(({ id }) => id),
    ).toEqual(ids)
    const { broken } = readDelta({ sid: 7, rows: ['x', { ...whole, id: 5 }] })
    expect(broken).toEqual([readRow('x'), readRow({ ...whole, id: 5 })])
    expect(broken[0]).not.toBe(broken[1])
  })

  test('has epoch, caller and since if they have the right type, and is read without them otherwise', () => {
    const names = { epoch: 'e', caller: 'c', since: 0 }
    expect(readDelta({ sid: 1, frames: [], ...names })).toMatchObject(names)
    const plain = readDelta({ sid: 1, frames: [], epoch: 5, caller: 7, since: '0' })
    expect(Object.keys(names).filter((name) => name in plain)).toEqual([])
  })

  test.each([
    ['text', 'bad_envelope', 'hello'],
    ['null', 'bad_envelope', null],
    ['no sid', 'bad_envelope', { frames: [] }],
    ['neither frames nor rows', 'bad_envelope', { sid: 1 }],
    ['a sid of text', 'bad_sid', { sid: '1', frames: [] }],
    ['a sid beyond 2^53', 'bad_sid', { sid: 2 ** 53, frames: [] }],
    ['a fraction for a sid', 'bad_sid', { sid: 1.5, frames: [] }],
  ])('with %s is a ProtocolError', (_, code, value) => {
    expect(() => readDelta(value)).toThrow(expect.objectContaining({ name: 'ProtocolError', code }))
  })

  test('of any form is read, or refused with a ProtocolError', () => {
    fc.assert(
      fc.property(parsedJson, (value) => {
        try {
          readDelta(value)
        } catch (error) {
          expect(isSyncError(error, 'ProtocolError')).toBe(true)
        }
      }),
    )
  })
})

describe('an error body', () => {
  test('is read exactly if the schema accepts it', () => {
    const known = fc.record({ code: fc.string(), message: fc.string() }, { requiredKeys: [] })
    const some = fc.record({ error: fc.oneof(known, mutilated(known, ['code', 'message'])) })
    fc.assert(
      fc.property(fc.oneof(parsedJson, some), (value) => {
        const parsed = errorBodySchema.safeParse(value)
        expect(readErrorBody(JSON.stringify(value))).toEqual(
          parsed.data && withoutUndefined(parsed.data.error),
        )
      }),
      { numRuns: 1_000 },
    )
  })

  test('has a code and a message', () => {
    expect(readErrorBody('{"error":{"code":"gone","message":"m"}}')).toEqual({ code: 'gone', message: 'm' })
  })

  test.each(['<html>', '', '{}', '{"error":"x"}', 'null'])('that is not ours (%s) gives nothing', (text) => {
    expect(readErrorBody(text)).toBeUndefined()
  })
})

describe('json', () => {
  test('the depth check stops at its limit, so deep JSON does not overflow the stack', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
    expect(isDeeperThan(maxDepth, deep)).toBe(true)
    expect(isDeeperThan(3, [[[]]])).toBe(false)
    expect(isDeeperThan(2, [[[]]])).toBe(true)
  })

  test('two values are equal if their JSON is the same but for the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(jsonEqual(a, JSON.parse(JSON.stringify(a)))).toBe(true)
        expect(jsonEqual(a, b)).toBe(sorted(a) === sorted(b))
      }),
    )
  })
})

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
