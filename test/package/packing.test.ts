import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import type { Document } from '../docs/documents.ts'
import { brokenLinks } from '../docs/links.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const restore = ['.ci/pack.mjs', '--restore'] as const

/** A copy of what is packed, in which to pack without a build. Other tests read the originals at the same time. */
let project = ''
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'instep-packing-'))
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs', 'dist', '.ci', 'examples']) {
    cpSync(join(root, name), join(project, name), { recursive: true })
  }
  const scripts = { prepack: 'node .ci/pack.mjs', postpack: manifest.scripts.postpack }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ ...manifest, scripts }))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { cwd: project, stdio: 'pipe', shell: process.platform === 'win32' })
}

/** The documents in `folder`, by their path from it. */
function documentsIn(folder: string): readonly Document[] {
  const names = readdirSync(join(folder, 'docs')).map((name) => `docs/${name}`)
  const paths = ['README.md', 'CHANGELOG.md', 'examples/app/README.md', ...names].filter((path) =>
    path.endsWith('.md'),
  )
  return paths.map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }))
}

describe('npm pack', () => {
  let unpacked = ''
  beforeAll(() => {
    run('npm', 'pack')
    run('tar', '-xzf', `instep-${manifest.version}.tgz`)
    unpacked = join(project, 'package')
  })

  test('builds, and checks the types and the manifest, before it writes the documents', () => {
    expect(manifest.scripts.prepack).toBe(
      'npm run build && tsc --noEmit && publint --strict && node .ci/pack.mjs',
    )
  })

  test('packs documents whose links all lead to a file of the package', () => {
    const documents = documentsIn(unpacked)
    const surroundings = { documents, exists: (path: string) => existsSync(join(unpacked, path)) }
    const broken = documents.map((document) => [document.path, brokenLinks(document, surroundings)] as const)
    expect(documents.length).toBeGreaterThan(20)
    expect(broken.filter(([, targets]) => targets.length > 0)).toEqual([])
  })

  test('names a test that a document links to', () => {
    const [linked = ''] =
      /\]\(\.\.\/(test\/[^)]+)\)/.exec(readFileSync(join(root, 'docs/invariants.md'), 'utf8'))?.slice(1) ?? []
    const text = readFileSync(join(unpacked, 'docs/invariants.md'), 'utf8')
    expect(linked).toMatch(/\.test\.ts$/)
    expect(text).toContain(`\`${linked}\``)
  })

  test('keeps the text of a link that is no name of a file', () => {
    expect(readFileSync(join(unpacked, 'README.md'), 'utf8')).toContain('demo (`examples/demo/README.md`)')
  })

  test('packs an application that runs with the packages that its guide installs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'instep-packed-app-'))
    const guide = readFileSync(join(unpacked, 'docs/build-an-application.md'), 'utf8')
    const lines = [...guide.matchAll(/^npm install (?:--save-dev )?(.+)$/gm)].map(([, names = '']) => names)
    for (const name of lines.join(' ').split(' ')) {
      const path = join(folder, 'node_modules', name.endsWith('.tgz') ? 'instep' : name)
      mkdirSync(dirname(path), { recursive: true })
      symlinkSync(name.endsWith('.tgz') ? unpacked : join(root, 'node_modules', name), path)
    }
    symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{}')
    cpSync(join(unpacked, 'examples'), join(folder, 'examples'), { recursive: true })
    const args = ['examples/app/start.mjs', 'memory:', '--port', '0']
    const app = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = await once(app.stdout, 'data')
    const page = await fetch(/http:\S+(?=,)/.exec(String(said))?.[0] ?? '')
    expect(await page.text()).toContain('<div id="root">')
    app.kill()
    await once(app, 'exit')
    rmSync(folder, { recursive: true })
  }, 120_000)

  test('leaves the documents of the project as they are', () => {
    expect(documentsIn(project)).toEqual(documentsIn(root))
    expect(existsSync(join(project, '.packing'))).toBe(false)
  })
})

describe('after a pack that was killed', () => {
  test('the next run restores the documents', () => {
    run('node', '.ci/pack.mjs')
    expect(documentsIn(project)).not.toEqual(documentsIn(root))
    run('node', '.ci/pack.mjs')
    run('node', ...restore)
    expect(documentsIn(project)).toEqual(documentsIn(root))
  })

  test('a document that was edited since stays as it is', () => {
    run('node', '.ci/pack.mjs')
    writeFileSync(join(project, 'docs/security.md'), 'Edited.')
    run('node', ...restore)
    expect(readFileSync(join(project, 'docs/security.md'), 'utf8')).toBe('Edited.')
    expect(readFileSync(join(project, 'docs/invariants.md'), 'utf8')).toBe(
      readFileSync(join(root, 'docs/invariants.md'), 'utf8'),
    )
    cpSync(join(root, 'docs/security.md'), join(project, 'docs/security.md'))
  })
})

test('a package that lacks a file of its manifest is not packed', () => {
  rmSync(join(project, 'dist/react/index.js'))
  expect(() => run('node', '.ci/pack.mjs')).toThrow('The package lacks dist/react/index.js.')
  cpSync(join(root, 'dist/react/index.js'), join(project, 'dist/react/index.js'))
})
