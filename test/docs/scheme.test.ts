import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blocksOf } from './documents.ts'
import { programsOf } from './programs.ts'
import { run } from './run.ts'
import { type Stage, setStage } from './stage.ts'
import { typeFaults } from './type-check.ts'

const code = (text: string, label = '') => `\`\`\`ts ${label}\n${text}\n\`\`\`\n`
const programs = (text: string) => programsOf({ path: 'docs/planted.md', text })

describe('an example with an error in it fails:', () => {
  let stage: Stage

  beforeAll(async () => {
    stage = await setStage()
  })

  afterAll(() => stage.close())

  const ran = async (text: string) => {
    for (const program of programs(text)) await run(program, stage)
  }

  test('a wrong type, an option or a name that does not exist, on the line where it stands', () => {
    const text = `# Planted\n\n${code("import { SyncClient } from 'instep'")}
${code("new SyncClient({ baseUrl: 'https://a.test', polInterval: 5 })\nsession.username\nundeclared()")}`
    expect(typeFaults(programs(text))).toEqual([
      expect.stringMatching(/^docs\/planted\.md:8: .*polInterval/),
      expect.stringMatching(/^docs\/planted\.md:9: .*username/),
      expect.stringMatching(/^docs\/planted\.md:10: .*undeclared/),
    ])
  })

  test('what throws', async () => {
    await expect(ran(code("import { SyncClient } from 'instep'\nnew SyncClient({})"))).rejects.toThrow(
      /^docs\/planted\.md: .*baseUrl/,
    )
  })

  test('what rejects', async () => {
    await expect(ran(code("await Promise.reject(new Error('no'))"))).rejects.toThrow('docs/planted.md: no')
  })

  test('a value that is another than it says', async () => {
    await ran(code('1 + 1 // → 2'))
    await expect(ran(code('1 + 1 // → 3'))).rejects.toThrow('1 + 1 is 2, not 3.')
  })

  test('a module that nobody has', async () => {
    await expect(ran(code("import { x } from 'lost'\nx()"))).rejects.toThrow('no module `lost`')
  })

  test('a block that does not end', () => {
    expect(() => blocksOf({ path: 'docs/planted.md', text: '```ts\n1' })).toThrow('does not end (line 1)')
  })
})

test('blocks build on each other, and those of a named file on those of that file', () => {
  const text = code('const a = 1') + code('const b = 2', 'page.ts') + code('a + 1')
  expect(programs(text)).toEqual([
    { document: 'docs/planted.md', language: 'ts', file: '', text: '\nconst a = 1\n\n\n\n\n\na + 1\n\n' },
    { document: 'docs/planted.md', language: 'ts', file: 'page.ts', text: '\n\n\n\nconst b = 2\n\n\n\n\n' },
  ])
})
