import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { rejectionCodes } from '../../src/protocol/tx.ts'
import { root } from './documents.ts'

const read = (path: string) => readFileSync(root + path, 'utf8')

/** The rows of the table under `heading`, each as its cells. */
function tableOf(heading: string): readonly (readonly string[])[] {
  const section =
    read('docs/errors.md')
      .split(/^## /m)
      .find((text) => text.startsWith(heading)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const plain = (cell = '') => cell.replaceAll('`', '')

/** `ErrorCodes` as it is written, `Class code` each. */
function codesInSource(): readonly string[] {
  const source = ts.createSourceFile('errors.ts', read('src/base/errors.ts'), ts.ScriptTarget.ES2022, true)
  const codes = source.statements.find(
    (statement) => ts.isInterfaceDeclaration(statement) && statement.name.text === 'ErrorCodes',
  )
  if (!codes || !ts.isInterfaceDeclaration(codes)) throw new Error('There is no interface ErrorCodes.')
  return codes.members.flatMap((member) => {
    const type = ts.isPropertySignature(member) ? (member.type?.getText() ?? '') : ''
    return [...type.matchAll(/'(\w+)'/g)].map(([, code]) => `${member.name?.getText()} ${code}`)
  })
}

/** What the service can answer, `status code` each. */
function failuresInSource(): readonly string[] {
  const folder = 'src/server/http/'
  const sources = readdirSync(root + folder).map((name) => read(folder + name))
  const thrown = sources.join().matchAll(/new Failure\(\s*(\d+),\s*'(\w+)'/g)
  // Those of a 401 are told apart by a type.
  const [, refusals = ''] = /type RefusalCode = (.+)/.exec(read('src/server/auth/caller.ts')) ?? []
  return [
    ...Array.from(thrown, ([, status, code]) => `${status} ${code}`),
    ...Array.from(refusals.matchAll(/'(\w+)'/g), ([, code]) => `401 ${code}`),
  ]
}

const sorted = (list: readonly string[]) => [...new Set(list)].sort()

describe('docs/errors.md', () => {
  test('has every code of the client, under its class, once', () => {
    let name = ''
    const listed = tableOf('In the client').map(([first, code]) => {
      name = plain(first) || name
      return `${name} ${plain(code)}`
    })
    expect(codesInSource().length).toBeGreaterThan(20)
    expect([...listed].sort()).toEqual(sorted(codesInSource()))
  })

  test('has every answer of the service, once', () => {
    const listed = tableOf('From the service').map(([status, code]) => `${status} ${plain(code)}`)
    expect(listed.length).toBeGreaterThan(10)
    expect([...listed].sort()).toEqual(sorted(failuresInSource()))
  })

  test('has every reason for which a transaction is refused, once', () => {
    const listed = tableOf('Why a transaction').map(([code]) => plain(code))
    expect([...listed].sort()).toEqual(sorted(rejectionCodes))
  })

  test('says of each what causes it, and what to do', () => {
    const rows = ['In the client', 'From the service', 'Why a transaction'].flatMap(tableOf)
    expect(rows.filter((row) => row.slice(-2).some((cell) => cell === ''))).toEqual([])
  })
})
