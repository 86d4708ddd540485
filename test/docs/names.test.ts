import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { readDocuments, root } from './documents.ts'

const textOf = (path: string) => readDocuments().find((document) => document.path === path)?.text ?? ''

/** The names that an entry exports, types included. */
function exportsOf(entry: string): readonly string[] {
  const source = ts.createSourceFile(entry, readFileSync(root + entry, 'utf8'), ts.ScriptTarget.ES2022)
  return source.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) throw new Error(`${entry} holds more than exports.`)
    const { exportClause } = statement
    if (!exportClause || !ts.isNamedExports(exportClause)) throw new Error(`${entry} exports all of a file.`)
    return exportClause.elements.map(({ name }) => name.text)
  })
}

const entries = [
  'src/index.ts',
  'src/server/index.ts',
  'src/testing/index.ts',
  'src/testing/msw/index.ts',
  'src/react/index.ts',
  'src/tanstack-db/index.ts',
  'src/sqlite/index.ts',
]

test.each(entries)('docs/api.md names all that %s exports', (entry) => {
  const spans = [...textOf('docs/api.md').matchAll(/`[^`\n]+`/g)].join(' ')
  const names = exportsOf(entry)
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(spans))).toEqual([])
})

test('docs/protocol.md lists the failures of the service, and no others', () => {
  const folder = `${root}src/server/http/`
  const sources = readdirSync(folder).map((name) => readFileSync(folder + name, 'utf8'))
  const thrown = sources.join().matchAll(/new Failure\(\s*(\d+),\s*'(\w+)'/g)
  const listed = textOf('docs/protocol.md').matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)
  const pairs = (found: Iterable<RegExpExecArray>) =>
    [...new Set(Array.from(found, ([, status, code]) => `${status} ${code}`))].sort()
  // Those of a 401 are told apart by the types.
  expect(pairs(listed)).toEqual(pairs(thrown))
})
