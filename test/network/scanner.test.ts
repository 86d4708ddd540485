import { describe, expect, test } from 'vitest'
import { isSyncError, type SyncError } from '../../src/base/errors.ts'
import { maxDepth } from '../../src/protocol/json.ts'
import { scan } from '../support/transport-snapshots.ts'

const row = (id: number | string, p: object = {}) => ({ t: 'Issue', id: String(id), v: 1, p })
const errorOf = (...args: Parameters<typeof scan>): Pick<SyncError, 'code' | 'message' | 'retryable'> => {
  try {
    scan(...args)
  } catch (error) {
    if (isSyncError(error, 'ProtocolError')) return error
    throw error
  }
  throw new Error('It was accepted.')
}
/** An array in arrays, `levels` deep. */
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const rowNesting = (id: string, levels: number) =>
  `{"t":"Issue","id":"${id}","p":{"a":${nested(levels - 2)}}}`

describe('the head of a snapshot', () => {
  test('may have keys with escapes', () => {
    expect(scan('{"\\u0073id":3,"r\\u006fws":[],"\\"sid":9}').head).toEqual({ sid: 3 })
  })

  test('may follow a byte order mark, also in pieces', () => {
    const bytes = new TextEncoder().encode('\uFEFF{"sid":1,"rows":[]}')
    expect(scan(bytes, [1, 2]).head).toEqual({ sid: 1 })
    expect(errorOf(bytes.slice(1)).code).toBe('not_json')
    expect(errorOf(Uint8Array.of(0xef, ...bytes.slice(3))).code).toBe('not_json')
  })

  test('ignores an extension of a wrong type, or of an enormous length', () => {
    const epoch = `"${'e'.repeat(70_000)}"`
    expect(scan(`{"sid":1,"count":"2","epoch":${epoch},"rows":[]}`, [30_000]).head).toEqual({ sid: 1 })
    for (const count of [-1, 0.5])
      expect(scan(`{"sid":1,"count":${count},"rows":[]}`).head).toEqual({ sid: 1 })
  })
})

describe('slices', () => {
  const rows = Array.from({ length: 2500 }, (_, index) => row(index))

  test('have a thousand rows, and contain exactly their text', () => {
    const { slices } = scan(JSON.stringify({ sid: 1, rows }), [10_000, 50_000])
    expect(slices.map((slice) => slice.rows.length)).toEqual([1000, 1000, 500])
    for (const slice of slices) expect(JSON.parse(slice.text)).toEqual(slice.rows)
  })

  test('or have about 256 kB', () => {
    const large = Array.from({ length: 10 }, (_, index) => row(index, { body: 'x'.repeat(100_000) }))
    const { slices } = scan(JSON.stringify({ sid: 1, rows: large }))
    expect(slices.map((slice) => slice.rows.length)).toEqual([3, 3, 3, 1])
  })
})

describe('a broken row', () => {
  test('is left out and reported, and the text of the slice omits it', () => {
    const rows = [
      row(1),
      { t: 'Issue', id: 5, p: {} },
      'no row',
      null,
      row(2),
      { t: '__proto__', id: 'x', p: {} },
    ]
    const { slices } = scan(JSON.stringify({ sid: 1, rows }))
    expect(slices).toHaveLength(1)
    expect(slices[0]?.rows).toEqual([row(1), row(2)])
    expect(slices[0]?.text).toBe(JSON.stringify([row(1), row(2)]))
    expect(slices[0]?.broken).toHaveLength(4)
  })

  test('with a wrong extension loses only the extension, in the text, too', () => {
    const [slice] = scan('{"sid":1,"rows":[{"t":"a","id":"1","v":"x","p":{}}]}').slices
    expect(slice?.rows).toEqual([{ t: 'a', id: '1', p: {} }])
    expect(JSON.parse(slice?.text ?? '')).toEqual(slice?.rows)
    expect(slice?.broken).toEqual([])
  })

  test(`that nests deeper than ${maxDepth} levels is left out without being parsed; its neighbours stay`, () => {
    const deep = rowNesting('deep', 200_000)
    const good = ['1', '2', '3'].map((id) => JSON.stringify(row(id)))
    for (const items of [
      [good[0], deep, good[1], good[2]],
      [deep, ...good],
      [...good, deep],
      [deep, deep, good[0], deep, deep, good[1], deep, good[2], deep],
    ]) {
      for (const cuts of [[], [100, 2000, 100_000, 200_050]]) {
        const { slices, rows, broken } = scan(`{"sid":1,"rows":[${items.join(' , ')}]}`, cuts)
        expect(rows.map(({ id }) => id)).toEqual(['1', '2', '3'])
        expect(slices.flatMap((slice) => JSON.parse(slice.text))).toEqual(rows)
        expect(new Set(broken)).toEqual(new Set([`a row nests deeper than ${maxDepth} levels`]))
        expect(broken).toHaveLength(items.length - 3)
      }
    }
    expect(scan(`{"sid":1,"rows":[${deep}]}`)).toMatchObject({ rows: [], slices: [{ text: '[]' }] })
  })

  test('nests too deep from exactly one level above the maximum', () => {
    const { rows, broken } = scan(
      `{"sid":1,"rows":[${rowNesting('a', maxDepth)},${rowNesting('b', maxDepth + 1)}]}`,
    )
    expect([rows.map(({ id }) => id), broken.length]).toEqual([['a'], 1])
  })

  test('that occurs many times still makes slices of a limited size', () => {
    const { slices } = scan(`{"sid":1,"rows":[${Array(3000).fill('0').join()}]}`)
    expect(slices.map((slice) => slice.broken.length)).toEqual([1000, 1000, 1000])
    const deep = nested(maxDepth + 1)
    const left = scan(`{"sid":1,"rows":[${Array(1500).fill(deep).join()}]}`)
    expect(left.slices.map((slice) => slice.broken.length)).toEqual([1000, 500])
  })
})

describe('a row that is too long', () => {
  const text = JSON.stringify({ sid: 1, rows: [row(1), row(2, { body: 'x'.repeat(1000) })] })

  test('ends the snapshot with an error that a retry does not fix, wherever chunks end', () => {
    for (const cuts of [[], [40, 500], Array.from({ length: 1200 }, (_, index) => index)]) {
      const { code, message, retryable } = errorOf(text, cuts, 999)
      expect([code, retryable]).toEqual(['row_too_large', false])
      expect(message).toContain('999 bytes')
    }
    expect(scan(text, [], 1100).rows).toHaveLength(2)
  })

  test('is detected before its end', () => {
    expect(errorOf(text.slice(0, -50), [], 900).code).toBe('row_too_large')
  })

  test('is measured in bytes, not in characters', () => {
    const wide = JSON.stringify({ sid: 1, rows: [row(1, { body: '€'.repeat(100) })] })
    expect(errorOf(wide, [], 300).code).toBe('row_too_large')
  })
})

describe('an invalid snapshot', () => {
  test.each([
    ['a page', '<!doctype html><html></html>', 'not_json'],
    ['two documents', '{"sid":1,"rows":[]}{"sid":1,"rows":[]}', 'not_json'],
    ['a comma after the last row', '{"sid":1,"rows":[{"t":"a","id":"1","p":{}},]}', 'not_json'],
    ['a comma after a full slice', `{"sid":1,"rows":[${Array(1000).fill('0').join()}, ]}`, 'not_json'],
    ['a comma after much white space', `{"sid":1,"rows":[${' '.repeat(300_000)},0]}`, 'not_json'],
    ['rows that are an object', '{"sid":1,"rows":{}}', 'bad_envelope'],
    ['rows that are null', '{"sid":1,"rows":null}', 'bad_envelope'],
    ['rows twice', '{"sid":1,"rows":[],"rows":[]}', 'bad_envelope'],
    ['no rows', '{"sid":1}', 'bad_envelope'],
    ['nothing at all', '{}', 'bad_envelope'],
    ['no sid', '{"rows":[]}', 'bad_envelope'],
    ['a sid of a prototype', '{"__proto__":{"sid":1},"rows":[]}', 'bad_envelope'],
    ['a sid that is a string', '{"sid":"1","rows":[]}', 'bad_sid'],
    ['a sid beyond 2^53', '{"sid":9007199254740993,"rows":[]}', 'bad_sid'],
    ['a sid of enormous length', `{"sid":1${' '.repeat(70_000)},"rows":[]}`, 'bad_sid'],
    ['an empty response', '', 'truncated'],
    ['white space', ' \n', 'truncated'],
  ])('%s', (_, text, code) => {
    expect(errorOf(text).code).toBe(code)
    expect(errorOf(text, [1, 5, 9, 15]).code).toBe(code)
  })

  test('a snapshot that ends early is truncated', () => {
    const text = '{"count":2,"rows":[{"t":"a","id":"1","p":{"x":"\\"é"}},{"t":"a","id":"2","p":{}}],"sid":7}'
    const bytes = new TextEncoder().encode(text)
    for (let end = 0; end < bytes.length; end += 1)
      expect(errorOf(bytes.slice(0, end)).code).toBe('truncated')
  })

  test('bytes that are not UTF-8', () => {
    const bytes = new TextEncoder().encode('{"sid":1,"rows":[{"t":"a","id":"1","p":{"x":"?"}}]}')
    bytes[bytes.indexOf(0x3f)] = 0xff
    expect(errorOf(bytes).code).toBe('not_json')
  })

  test('no error quotes the snapshot', () => {
    expect(errorOf('{"sid":1,"rows":[{"secret":s3cret}]}').message).not.toContain('s3cret')
  })
})

describe('these are only scanned for strings and brackets', () => {
  const rest = '"sid":1,"rows":[]'
  const long = `"${'x'.repeat(70_000)}"`

  test('a value beside the rows longer than 64 KiB, or deeper than a row may be', () => {
    expect(scan(`{"x":[${long},},${rest}}`).head).toEqual({ sid: 1 })
    const deep = `${'['.repeat(maxDepth + 1)}${'}'.repeat(maxDepth + 1)}`
    expect(scan(`{"x":${deep},${rest}}`).head).toEqual({ sid: 1 })
    expect(errorOf(`{"x":["${'x'.repeat(60_000)}",},${rest}}`).code).toBe('not_json')
  })

  test('a key of that length', () => {
    expect(scan(`{${long}:1,${rest}}`).head).toEqual({ sid: 1 })
  })

  test('a row that nests too deep', () => {
    const open = '['.repeat(maxDepth + 1)
    const wrong = '}'.repeat(maxDepth + 1)
    expect(scan(`{"sid":1,"rows":[${open} nonsense ${wrong}]}`).broken).toHaveLength(1)
  })
})

test('a long value that is not used is skipped, however its characters are split', () => {
  const document = new TextEncoder().encode(
    JSON.stringify({ sid: 1, note: 'é'.repeat(60_000), rows: [row(1)] }),
  )
  for (const step of [1_000, 1_001]) {
    const cuts = Array.from({ length: Math.ceil(document.length / step) }, (_, n) => n * step)
    expect(scan(document, cuts)).toMatchObject({ head: { sid: 1 }, rows: [row(1)] })
  }
})
