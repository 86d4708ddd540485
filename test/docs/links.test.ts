import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { parse } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { type Block, blocksOf, type Document, readDocuments, root } from './documents.ts'
import { brokenLinks, prose } from './links.ts'

const documents = readDocuments()
const project = { documents, exists: (path: string) => existsSync(root + path) }
const scripts: { readonly [name: string]: string } = manifest.scripts

/** The files and folders of the project that `document` names, and that neither it nor the project has. */
function lostFiles(document: Document): readonly string[] {
  const shown = blocksOf(document).map(({ label }) => label)
  const files = prose(document).matchAll(/`([\w./-]+\.(?:md|tsx?|mjs|json|html|yml))`/g)
  const folders = prose(document).matchAll(/`((?:src|test|docs|examples|\.ci|\.github)\/[\w./-]+)`/g)
  const names = new Set([...files, ...folders].map(([, name = '']) => name))
  return [...names].filter((name) => !shown.includes(name) && !existsSync(root + name))
}

/** Takes the examples out of the package. */
const copyExamples = 'cp -R node_modules/instep/examples .'

const knownCommands = [
  /^npm init -y$/,
  /^npm install( --save-dev)?( [\w@/.-]+)*$/,
  /^npm pack$/,
  /^npx changeset version$/,
  /^export INSTEP_JWT_SECRET="\$\(openssl rand -hex 32\)"$/,
  /^VITE_TOKEN=… npx vite$/,
]

/** Whether the command line knows it, and all of its options. */
function isOfInstep(line: string): boolean {
  const [, name, args = ''] = /^(?:INSTEP_JWT_SECRET=… )?npx instep (\w+) (.+)$/.exec(line) ?? []
  const command = commands.find((each) => each.name === name)
  return command !== undefined && parse(command, args.split(' ')).options.size > 0
}

/** Whether all tests that a command names are there. */
function namesTests(args: string): boolean {
  return args.split(' ').every((arg) => !arg.startsWith('test/') || existsSync(root + arg))
}

/** The commands of a block that cannot be given: an unknown script, a file that is not there, a wrong version. */
function brokenCommands(document: Document, { lines }: Block): readonly string[] {
  const shown = blocksOf(document).map(({ label }) => label)
  const packed = `${manifest.name}-${manifest.version}.tgz`
  const isRight = (command: string) => {
    const [, name, args = ''] = /^npm (?:run (?=\S)|(?=test\b))(\S+)(?: -- (.+))?$/.exec(command) ?? []
    if (name) return name in scripts && namesTests(args)
    const [, tests] = /^(?:[A-Z_]+=\S+ )*npx vitest run --config (.+)$/.exec(command) ?? []
    if (tests) return namesTests(tests)
    const file = /^node (\S+)$/.exec(command)?.[1]
    if (file) return shown.includes(file) || (lines.includes(copyExamples) && existsSync(root + file))
    const archive = /(\S+)\.tgz/.exec(command)?.[0]
    if (archive && posix.basename(archive) !== packed) return false
    if (command === copyExamples) return true
    return isOfInstep(command) || knownCommands.some((known) => known.test(command))
  }
  return lines
    .flatMap((line) => line.split(' && '))
    .map((command) => command.trim())
    .filter((command) => command !== '' && !isRight(command))
}

describe.each(documents)('$path', (document) => {
  test('links to what is there', () => {
    expect(brokenLinks(document, project)).toEqual([])
  })

  test('names files that are there', () => {
    expect(lostFiles(document)).toEqual([])
  })

  test('gives commands that exist', () => {
    const blocks = blocksOf(document).filter(({ language }) => language === 'sh')
    expect(blocks.flatMap((block) => brokenCommands(document, block))).toEqual([])
  })

  test('shows pages whose scripts it shows too', () => {
    const blocks = blocksOf(document)
    const html = blocks.filter(({ language }) => language === 'html').flatMap(({ lines }) => lines)
    const sources = [...html.join('\n').matchAll(/src="\/([^"]+)"/g)].map(([, source = '']) => source)
    expect(sources.filter((source) => !blocks.some(({ label }) => label === source))).toEqual([])
  })
})

describe('a document with an error in it fails:', () => {
  const planted = (text: string): Document => ({ path: 'docs/planted.md', text })

  test('a link to nothing, or to a heading that is not there', () => {
    const text =
      '# Here\n[a](api.md) [b](lost.md) [c](#here) [d](#there) [e](api.md#queries) [f](api.md#lost)'
    expect(brokenLinks(planted(text), project)).toEqual(['lost.md', '#there', 'api.md#lost'])
  })

  test('a file or a folder that is not there', () => {
    const text = '`docs/api.md` `src/lost.ts` `package.json` `test/docs` `test/lost/folder`'
    expect(lostFiles(planted(text))).toEqual(['src/lost.ts', 'test/lost/folder'])
  })

  test('a command that nobody has', () => {
    const document = planted(
      '```sh\nnpm run build && npm run lost\nnode lost.mjs\nnpm install ../instep-9.9.9.tgz\nnpm test -- test/lost\n```',
    )
    expect(blocksOf(document).flatMap((block) => brokenCommands(document, block))).toEqual([
      'npm run lost',
      'node lost.mjs',
      'npm install ../instep-9.9.9.tgz',
      'npm test -- test/lost',
    ])
  })
})
