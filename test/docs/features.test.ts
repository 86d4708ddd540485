import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readDocuments, root } from './documents.ts'

const read = (path: string) => readFileSync(root + path, 'utf8')
const readme = read('README.md')

/** The rows of the table of the README that begins with `head`, without its first two lines. */
function rowsOf(head: string): readonly string[] {
  const [, table = ''] = readme.split(`| ${head} |`)
  return table.split('\n\n')[0]?.split('\n').slice(2) ?? []
}

/** A row: what works or does not, and the title of the test that shows it. */
const row = /^\| (.+) \| \[([\w/-]+)\]\((test\/\2\.test\.ts) "(.+)"\) \|$/

const rows = ['what works', 'what does not work'].flatMap((head) => rowsOf(head))

test('the README lists what works and what does not', () => {
  expect(rowsOf('what works').length).toBeGreaterThan(8)
  expect(rowsOf('what does not work').length).toBeGreaterThan(2)
})

test.each(rows)('a test shows: %s', (text) => {
  const [, , , file = '', title = ''] = row.exec(text) ?? []
  expect(file, 'The row names no test.').not.toBe('')
  const starts = ["'", '`', '"'].map((quote) => `${quote}${title}`)
  expect(starts.some((start) => read(file).includes(start))).toBe(true)
})

test('the README says how large a client is', () => {
  const [, kilobytes] = /add (\d+) kB/.exec(readme) ?? []
  const [, limit = ''] = /maxBytes = ([\d_]+)/.exec(read('test/package/size.test.ts')) ?? []
  expect(Math.ceil(Number(limit.replaceAll('_', '')) / 1_000)).toBe(Number(kilobytes))
})

test('the README fits on two screens and has both pictures of the demo', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(151)
  for (const scheme of ['light', 'dark']) expect(readme).toContain(`".github/demo-${scheme}.png"`)
})

test('the documents are short enough to be read', () => {
  const documents = readDocuments().filter(({ path }) => path.startsWith('docs/'))
  const bytesOf = (paths: typeof documents) =>
    paths.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)
  expect(bytesOf(documents)).toBeLessThanOrEqual(300_000)
  expect(bytesOf(documents.filter(({ path }) => path === 'docs/api.md'))).toBeLessThanOrEqual(55_000)
})
