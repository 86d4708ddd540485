import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lacks } from '../../src/conformance/lacks.ts'
import { selected, suite } from '../../src/conformance/suite.ts'

const protocol = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')

/** The text under each heading, as one line. */
const sections = new Map(
  protocol.split(/^#+ /m).map((section) => {
    const [heading = '', ...lines] = section.split('\n')
    return [
      heading,
      lines
        .join('\n')
        .replace(/\*\*core\*\* /g, '')
        .replace(/\s+/g, ' '),
    ]
  }),
)

test('each check has a name of its own', () => {
  const names = suite.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^[a-z]+\/[a-z0-9-]+$/.test(name))).toEqual([])
})

test('each check names a paragraph of docs/protocol.md, and a rule that is in it, word for word', () => {
  const wrong = suite.filter(
    ({ paragraph, rule }) => !sections.get(paragraph)?.includes(rule.replace(/\s+/g, ' ')),
  )
  expect(wrong.map(({ name, paragraph, rule }) => `${name}: ${paragraph}: ${rule}`)).toEqual([])
})

test('what a check needs besides a token comes with a token', () => {
  const wrong = suite.filter(
    ({ needs }) => needs.includes('insert') && !(needs.includes('tx') && needs.includes('token')),
  )
  expect(wrong.map(({ name }) => name)).toEqual([])
})

test('a subject selects all of its checks, and a name one', () => {
  expect(selected('delta').every(({ name }) => name.startsWith('delta/'))).toBe(true)
  expect(selected('delta/at-head').map(({ name }) => name)).toEqual(['delta/at-head'])
  expect(selected('delt')).toEqual([])
})

test('what a server may leave out has a sentence that says what its clients then lack', () => {
  expect(Object.values(lacks).filter((lack) => !/^[A-Z].+\.$/.test(lack))).toEqual([])
})
