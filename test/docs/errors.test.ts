import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { rejectionCodes } from '../../src/protocol/tx.ts'
import { root } from './documents.ts'

const read = (path: string) => readFileSync(root + path, 'utf8')

interface Entry {
  /** The heading between the section's and the code's, if there is one. */
  readonly group: string
  /** Without the qualifier in parentheses. */
  readonly code: string
  /** The text in parentheses after the code: a class or a status. */
  readonly qualifier: string
  readonly text: string
}

/** The codes that have a heading in the section `title`, in their order. */
function entriesOf(title: string): readonly Entry[] {
  const section =
    read('docs/errors.md')
      .split(/^## /m)
      .find((text) => text.startsWith(title)) ?? ''
  const entries: Entry[] = []
  let group = ''
  for (const part of section.split(/^#{3,4} /m).slice(1)) {
    const [heading = '', ...lines] = part.split('\n')
    const [, code = '', qualifier = ''] = /^([a-z_]+)(?: \((\w+)\))?$/.exec(heading) ?? []
    if (code) entries.push({ group, code, qualifier, text: lines.join('\n') })
    else group = heading
  }
  return entries
}

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

const sections = ['In the client', 'From the service', 'Why a transaction']

describe('docs/errors.md', () => {
  test('has every code of the client, under its class, once', () => {
    const listed = entriesOf('In the client').map(({ group, code }) => `${group} ${code}`)
    expect(codesInSource().length).toBeGreaterThan(20)
    expect([...listed].sort()).toEqual(sorted(codesInSource()))
  })

  test('has every answer of the service, once', () => {
    const listed = entriesOf('From the service').map(({ code, qualifier }) => `${qualifier} ${code}`)
    expect(listed.length).toBeGreaterThan(10)
    expect([...listed].sort()).toEqual(sorted(failuresInSource()))
  })

  test('has every reason for which a transaction is refused, once', () => {
    const listed = entriesOf('Why a transaction').map(({ code }) => code)
    expect([...listed].sort()).toEqual(sorted(rejectionCodes))
  })

  test('says of each what causes it', () => {
    const incomplete = sections.flatMap((section) =>
      entriesOf(section).filter(({ text }) => !/^\n[A-Z`]/.test(text)),
    )
    expect(incomplete.map(({ code }) => code)).toEqual([])
  })

  test('says what to do about each answer of the service, and each reason of a refusal', () => {
    // Nothing is to be done about a forgotten position: the client fetches a snapshot.
    const withoutAdvice = sections
      .slice(1)
      .flatMap((section) =>
        entriesOf(section).filter(({ text }) => !/^- \*\*(?:Do|If [^*]+):\*\* \w/m.test(text)),
      )
    expect(withoutAdvice.map(({ code }) => code)).toEqual(['below_horizon'])
  })

  test('says of each class and section what the user sees', () => {
    const parts = read('docs/errors.md').split(/^(?=#{2,4} )/m)
    const groups = parts.filter((part) => /^(?:### [A-Z]|## (?:From|Why))/.test(part))
    const silent = groups.filter((part) => !/^- \*\*The user\*\* \w/m.test(part))
    expect(groups.length).toBeGreaterThan(10)
    expect(silent.map((part) => part.split('\n')[0])).toEqual([])
  })

  test('has a link of its own for each code', () => {
    const headings = sections
      .flatMap(entriesOf)
      .map(({ code, qualifier }) => (qualifier ? `${code} (${qualifier})` : code))
    expect(headings).toEqual([...new Set(headings)])
  })
})
