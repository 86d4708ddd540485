import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toError } from '../../src/base/errors.ts'
import { CommandError } from '../../src/cli/failure.ts'
import { readCsv } from '../../src/cli/records/csv.ts'
import { type Row, rowsOf } from '../../src/cli/records/csv-rows.ts'
import { readJson } from '../../src/cli/records/json.ts'
import { readNdjson } from '../../src/cli/records/ndjson.ts'
import type { Chunks, NumberedRecord } from '../../src/cli/records/numbered-record.ts'
import { recordFile } from '../../src/cli/records/read-records.ts'
import { toOp } from '../../src/cli/records/to-op.ts'
import { csvOracle } from './csv-oracle.ts'

/** `text` in pieces of these lengths, over and over. */
async function* pieces(text: string, lengths: readonly number[]): Chunks & AsyncGenerator<string> {
  const chars = [...text]
  for (let at = 0, n = 0; at < chars.length; n += 1) {
    const length = lengths[n % lengths.length] ?? 1
    yield chars.slice(at, at + length).join('')
    at += length
  }
}

async function all(read: (chunks: Chunks) => AsyncIterable<NumberedRecord>, text: string, lengths = [1]) {
  const found: NumberedRecord[] = []
  for await (const each of read(pieces(text, lengths))) found.push(each)
  return found
}

const recordsOf = (found: readonly NumberedRecord[]) => found.map((each) => 'record' in each && each.record)
const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 })
const values = fc.array(fc.jsonValue(), { maxLength: 5 })

test('a JSON array is read item by item, however it is formatted and split', async () => {
  await fc.assert(
    fc.asyncProperty(values, lengths, fc.constantFrom(0, 1, '\t'), async (items, cuts, indent) => {
      const found = await all(readJson, JSON.stringify(items, null, indent), cuts)
      expect(recordsOf(found)).toEqual(JSON.parse(JSON.stringify(items)))
    }),
  )
})

test('any JSON white space may surround the array of a JSON file', async () => {
  expect(recordsOf(await all(readJson, ' \t\r\n[1]\t\r\n '))).toEqual([1])
})

test('in CSV, spaces around a name are ignored, and an empty line is no record', async () => {
  const text = 'id, done:boolean \n1,true\n\n2,false\n'
  expect(recordsOf(await all(readCsv, text))).toEqual([
    { id: '1', done: true },
    { id: '2', done: false },
  ])
})

test.each(['x.jsonl', 'x.NDJSON'])('the extension of %s sets the format', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'instep-records-'))
  const path = join(folder, name)
  writeFileSync(path, '{"id":"1"}\n')
  const found: NumberedRecord[] = []
  for await (const each of (await recordFile(path, undefined)).records()) found.push(each)
  rmSync(folder, { recursive: true })
  expect(recordsOf(found)).toEqual([{ id: '1' }])
})

test('NDJSON is read line by line, also with U+2028 in a line', async () => {
  await fc.assert(
    fc.asyncProperty(values, lengths, async (items, cuts) => {
      const text = ['"\u2028"', ...items.map((item) => JSON.stringify(item))].join('\n')
      expect(recordsOf(await all(readNdjson, text, cuts))).toEqual([
        '\u2028',
        ...JSON.parse(JSON.stringify(items)),
      ])
    }),
  )
})

test('quoted CSV cells are read as they were written', async () => {
  const cell = fc.string({ minLength: 1, unit: fc.constantFrom('"', ',', '\n', '\r', 'a', 'ü', '😀') })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(cell, cell)),
      lengths,
      fc.constantFrom('\n', '\r\n'),
      async (rows, cuts, end) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
        const lines = ['a,b', ...rows.map((cells) => cells.map(quoted).join())]
        const found = await all(readCsv, lines.join(end), cuts)
        expect(recordsOf(found)).toEqual(rows.map(([a, b]) => ({ a, b })))
      },
    ),
  )
})

test('any CSV text is read as its grammar says, up to the first fault, however it is split', async () => {
  const rowsAndFault = async (text: string, cuts: readonly number[]) => {
    const rows: Row[] = []
    try {
      for await (const row of rowsOf(pieces(text, cuts))) rows.push(row)
    } catch (error) {
      return { rows, fault: toError(error).message }
    }
    return { rows }
  }
  const sound = fc.constantFrom('a', 'ü😀', ',', '\n', '\r\n', ',"",', ',"a,""\r\nü",', '\n"""\n"""\r\n')
  const any = fc.constantFrom('"', '\r', '"a"', '\u2028')
  const unit = fc.oneof({ arbitrary: sound, weight: 12 }, { arbitrary: any, weight: 1 })
  const texts = fc.array(unit, { maxLength: 40 }).map((units) => units.join(''))
  await fc.assert(
    fc.asyncProperty(texts, lengths, async (text, cuts) => {
      expect(await rowsAndFault(text, cuts)).toEqual(csvOracle(text))
    }),
    { numRuns: 2_000 },
  )
})

test('a character that is split stays whole, and a byte order mark is skipped', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'instep-records-'))
  const path = join(folder, 'long.csv')
  const text = 'ü'.repeat(300_000)
  // A character begins at an even byte in one row, at an odd one in the other.
  writeFileSync(path, `\ufeff"a"\n${text}\n${text}.\n"${text}"\n`)
  const found: NumberedRecord[] = []
  for await (const each of (await recordFile(path, undefined)).records()) found.push(each)
  rmSync(folder, { recursive: true })
  expect(recordsOf(found)).toEqual([{ a: text }, { a: `${text}.` }, { a: text }])
})

test('the error for a file that disappears is one sentence', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'instep-records-'))
  const path = join(folder, 'gone.csv')
  writeFileSync(path, 'id\n')
  const { records } = await recordFile(path, undefined)
  rmSync(folder, { recursive: true })
  const reading = all(() => records(), '')
  await expect(reading).rejects.toThrow(CommandError)
  await expect(reading).rejects.toThrow(`The file ${path} cannot be read: ENOENT`)
})

test('the errors for a file that is not in UTF-8 and for a wrong path are one sentence', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'instep-records-'))
  const path = join(folder, 'latin.csv')
  writeFileSync(path, 'id\nü\n', 'latin1')
  const { records } = await recordFile(path, undefined)
  const message = `The file ${path} is not in UTF-8.`
  await expect(all(() => records(), '')).rejects.toMatchObject({ message })
  const below = join(path, 'x.csv')
  await expect(recordFile(below, undefined)).rejects.toThrow(`The file ${below} cannot be read: ENOTDIR`)
  rmSync(folder, { recursive: true })
})

test('each record is reported with the line on which it begins', async () => {
  expect(await all(readJson, '[\n  {\n"a": 1},\n\n {]}, {"b": 2}\n]')).toEqual([
    { line: 2, record: { a: 1 } },
    { line: 5, fault: 'is not JSON' },
    { line: 5, record: { b: 2 } },
  ])
  expect(await all(readCsv, 'a\n"1\n2"\n3\n')).toEqual([
    { line: 2, record: { a: '1\n2' } },
    { line: 4, record: { a: '3' } },
  ])
})

test('a number that JSON cannot hold exactly is refused as an id, since two could become one', () => {
  const rules = {
    type: 'T',
    idField: 'id',
    ownerField: 'userId',
    owner: 'ann',
    maxRecordBytes: 1_000,
    replace: false,
  }
  const idOf = (text: string) => {
    const op = toOp({ line: 1, record: JSON.parse(text) }, rules)
    return typeof op === 'string' ? op : op.id
  }
  expect(['{"id":9007199254740991}', '{"id":9007199254740993}', '{"id":1.5}', '{"id":""}'].map(idOf)).toEqual(
    ['9007199254740991', ...Array(3).fill('has no id in its field id')],
  )
})

test('a blank cell is not a number', async () => {
  expect(await all(readCsv, 'id,n:number\n1, \n')).toEqual([
    { line: 2, fault: 'has a cell in the column n that is not of the kind number' },
  ])
})

test('a column can hold numbers, booleans and JSON', async () => {
  const head = 'id,n:number,done:boolean,tags:json,odd:ratio:string'
  expect(recordsOf(await all(readCsv, `${head}\n1,-2e3,false,"[1,""x""]",y\n`))).toEqual([
    { id: '1', n: -2_000, done: false, tags: [1, 'x'], 'odd:ratio': 'y' },
  ])
})

test('any other text is neither a boolean nor JSON', async () => {
  for (const kind of ['boolean', 'json']) {
    expect(await all(readCsv, `id,x:${kind}\n1,yes\n`)).toEqual([
      { line: 2, fault: `has a cell in the column x that is not of the kind ${kind}` },
    ])
  }
})

test('a row whose first cell is empty is a record without that field', async () => {
  expect(recordsOf(await all(readCsv, 'id,title\n,Milk\n'))).toEqual([{ title: 'Milk' }])
})

test('the name of an inherited property is not a kind of column', async () => {
  await expect(all(readCsv, 'id:constructor\n1\n')).rejects.toThrow('kind of the column id to constructor')
})
