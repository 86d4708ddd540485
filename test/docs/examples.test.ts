import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOf, readDocuments } from './documents.ts'
import { codeLanguages, programsOf, titleOf } from './programs.ts'
import { run } from './run.ts'
import { type Stage, setStage } from './stage.ts'
import { typeFaults } from './type-check.ts'

const documents = readDocuments()

/** What a page shows once the programs of its document have run. */
const shown: { readonly [path: string]: RegExp } = {
  'README.md': /Cable cut/,
}

/** Code for another product, which is not installed here. */
const foreign = 'typescript'

/** Blocks in these are no code of ours: other tests check them, or nothing can. */
const otherLanguages = ['sh', 'json', 'html', 'nginx', 'text', 'sql', foreign]

test('every block says in what language it is, and code is never called by another name', () => {
  const known = [...codeLanguages, ...otherLanguages]
  const unknown = documents.flatMap((document) =>
    blocksOf(document)
      .filter(({ language }) => !known.includes(language))
      .map(({ language, line }) => `${document.path}:${line}: ${language}`),
  )
  expect(unknown).toEqual([])
})

test('code that uses Instep is not passed off as code for another product', () => {
  const hidden = documents.flatMap((document) =>
    blocksOf(document)
      .filter(({ language, lines }) => language === foreign && /instep/i.test(lines.join()))
      .map(({ line }) => `${document.path}:${line}`),
  )
  expect(hidden).toEqual([])
})

test('the examples are what the compiler accepts', () => {
  expect(typeFaults(documents.flatMap(programsOf))).toEqual([])
})

describe.each(documents.filter((document) => programsOf(document).length > 0))('$path', (document) => {
  let stage: Stage

  beforeAll(async () => {
    stage = await setStage()
  })

  afterAll(() => stage.close())

  test.each(programsOf(document).map((program) => [titleOf(program), program] as const))(
    '%s does what it says',
    (_, program) => run(program, stage),
  )

  const page = shown[document.path]
  if (page) {
    test('leaves a page that shows what it is to show', () => expect.poll(() => stage.shown()).toMatch(page))
  }
})

test.each(
  documents.flatMap((document) =>
    blocksOf(document)
      .filter(({ language }) => language === 'json')
      .map(({ lines, line }) => [`${document.path}:${line}`, lines.join('\n')] as const),
  ),
)('the JSON at %s is JSON', (_, text) => {
  JSON.parse(text)
})
