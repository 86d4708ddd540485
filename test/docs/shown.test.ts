import { describe, expect, test } from 'vitest'
import { readDocuments } from './documents.ts'
import { folderShownBy, partsOf, strangeLines } from './shown.ts'

const documents = readDocuments().filter((document) => folderShownBy(document) !== undefined)

test('a document shows the files of an example', () => {
  expect(documents.map(({ path }) => path)).toEqual(['docs/build-an-application.md'])
})

describe.each(documents)('$path', (document) => {
  const folder = folderShownBy(document) ?? ''

  test.each(partsOf(document))('line $line shows lines of $label', (part) => {
    expect(strangeLines(part, folder)).toEqual([])
  })
})

test('a line that the file does not have is found', () => {
  const block = { language: 'ts', label: 'start.mjs', line: 1, lines: ['console.log(1)', '', 'await lost()'] }
  expect(strangeLines(block, 'examples/app/')).toEqual(['console.log(1)', 'await lost()'])
})
