import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { mutations } from '../mutation-testing/mutations.ts'

const root = new URL('../..', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const of = (invariant: number) => mutations.filter((mutation) => mutation.invariant === invariant)

const shortened = (test: string) => test.replace(/^test\//, '').replace(/(\.test)?\.ts$/, '')

/** The invariants in the order of the document: what must hold, and what shows it. */
const items = read('docs/invariants.md')
  .split(/^(?=\d+\. |#)/m)
  .filter((part) => /^\d/.test(part))
  .map((part) => {
    const [text = '', ...tests] = part.trimEnd().split(/\n {4}- /)
    return { invariant: Number.parseInt(text, 10), text, tests }
  })

describe('the invariants', () => {
  test('are each said once, in order', () => {
    const numbers = items.map(({ invariant }) => invariant)
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
  })

  test('name the tests that show them', () => {
    const said = items.map(({ invariant, tests }) => ({ invariant, tests: [...tests].sort() }))
    const shown = items.map(({ invariant }) => {
      const tests = new Set(of(invariant).map(({ test }) => `[${shortened(test)}](../${test})`))
      return { invariant, tests: [...tests].sort() }
    })
    expect(said).toEqual(shown)
  })

  test('that nothing shows are said not to hold yet', () => {
    const unshown = items.filter(({ tests, text }) => tests.length === 0 && !text.includes('Not yet:'))
    expect(unshown).toEqual([])
  })

  test('that a test names have a change that breaks them', () => {
    const files = readdirSync(new URL('test/', root), { recursive: true, encoding: 'utf8' })
    const named = files
      .filter((file) => file.endsWith('.ts') && !/^(architecture|mutation-testing)\b/.test(file))
      .flatMap((file) => [...read(`test/${file}`).matchAll(/\binvariant (\d+)/g)])
      .map(([, number]) => Number(number))
    expect(named.length).toBeGreaterThan(50)
    expect([...new Set(named)].filter((number) => of(number).length === 0)).toEqual([])
  })
})

describe('a change', () => {
  test('names a test that is there', () => {
    const missing = mutations.filter(({ invariant, test, name }) => {
      const source = read(test)
      const isThere = [`'${name}'`, `\`${name}\``].some((literal) => source.includes(literal))
      return !isThere || !new RegExp(`\\binvariant ${invariant}\\b`).test(name)
    })
    expect(missing).toEqual([])
  })

  test('replaces a part of one line, which is there once, by another', () => {
    const useless = mutations.filter(({ file, from, to }) => {
      const times = read(file).split(from).length - 1
      return times !== 1 || from === to || /\n/.test(from + to)
    })
    expect(useless).toEqual([])
  })
})
