import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

let paths: readonly string[] = []

beforeAll(async () => {
  // Unlike `npm publish --dry-run`, this needs no network.
  const { stdout } = await promisify(execFile)('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    maxBuffer: 2 ** 24,
    shell: process.platform === 'win32',
  })
  const packed: readonly Packed[] = JSON.parse(stdout)
  paths = packed.flatMap(({ files }) => files.map(({ path }) => path))
})

describe('the packed package', () => {
  test.each(['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'dist/index.js', 'dist/cli/index.js'])(
    'holds %s',
    (path) => {
      expect(paths).toContain(path)
    },
  )

  test('holds every document that the README links to', async () => {
    const readme = await readFile(`${root}README.md`, 'utf8')
    const linked = Array.from(readme.matchAll(/\]\((docs\/[^)#]+)/g), ([, path]) => path)
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((path) => !paths.includes(path ?? ''))).toEqual([])
  })

  test('holds no sources, tests or folders but the documents and one example', () => {
    const folders = paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0])
    expect([...new Set(folders)].sort()).toEqual(['dist', 'docs', 'examples'])
    const examples = paths.filter((path) => path.startsWith('examples/') && !path.startsWith('examples/app/'))
    expect(examples).toEqual(['examples/arguments.mjs'])
  })
})
