import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** Runs a script in which the package's own name means what was built. */
async function inNode(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, args, { cwd: root })
  return stdout.trim()
}

/** What a bundler makes of `import 'instep'` for a platform: the files that it takes in. */
async function bundled(platform: 'browser' | 'node', conditions: readonly string[] = []): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: "export * from 'instep'", resolveDir: root },
    bundle: true,
    write: false,
    metafile: true,
    // Without the paths that lead to the sources.
    tsconfigRaw: {},
    format: 'esm',
    platform,
    conditions: [...conditions],
    logLevel: 'error',
  })
  return Object.keys(metafile.inputs)
}

describe('the built package', () => {
  test('is right by publint', async () => {
    const { messages } = await publint({ pkgDir: root, strict: true })
    expect(messages.map((message) => formatMessage(message, manifest))).toEqual([])
  })

  test('is right by attw, for ESM, CommonJS and bundlers', async () => {
    const attw = fileURLToPath(new URL('node_modules/@arethetypeswrong/cli/dist/index.js', `file://${root}`))
    const folder = await mkdtemp(join(tmpdir(), 'instep-packed-'))
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: root })
    const [packed = ''] = await readdir(folder)
    await inNode(attw, join(folder, packed), '--profile', 'node16')
  })

  test('exports the same by import and by require', async () => {
    const names = 'console.log(Object.keys(m).filter((name) => name !== "__esModule").sort().join())'
    const entries = Object.keys(manifest.exports).filter((path) => path !== './package.json')
    for (const entry of entries.map((path) => path.replace('.', 'instep'))) {
      const imported = await inNode('--input-type=module', '-e', `import * as m from '${entry}'; ${names}`)
      expect(imported.split(',').length, entry).toBeGreaterThan(0)
      expect(await inNode('-e', `const m = require('${entry}'); ${names}`)).toBe(imported)
    }
  })

  test('runs where CommonJS is all that there is, as in Jest', async () => {
    expect(await inNode(fileURLToPath(new URL('by-require.mjs', import.meta.url)))).toBe('Cable cut')
  })

  test('can be imported where a test has only what jsdom gives it', async () => {
    const lacking = ['fetch', 'Response', 'TextDecoder', 'TextEncoder', 'ReadableStream', 'structuredClone']
    const without = `for (const name of ${JSON.stringify(lacking)}) delete globalThis[name]`
    const recognized = `require('instep').isSyncError(new (require('instep').ClosedError)())`
    const entries = ['react', 'tanstack-db'].map((entry) => `require('instep/${entry}')`)
    expect(await inNode('-e', [without, ...entries, `console.log(${recognized})`].join(';'))).toBe('true')
  })

  test('tells a framework with server components that the hooks are for the page', async () => {
    const { import: esm, require: commonJs } = manifest.exports['./react']
    for (const { default: path } of [esm, commonJs]) {
      expect(await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')).toMatch(/^'use client'\n/)
    }
  })

  test('has no side effect when it is imported', async () => {
    const told = await inNode(fileURLToPath(new URL('no-side-effect.mjs', import.meta.url)))
    expect(JSON.parse(told)).toEqual({ touched: [], added: [], listeners: 0 })
  })

  test.each([
    ['browser', 'browser', []],
    ['edge', 'browser', ['edge-light']],
    ['Deno', 'browser', ['deno']],
  ] as const)('brings no ws into a bundle for %s', async (_, platform, conditions) => {
    const files = await bundled(platform, conditions)
    expect(files.some((file) => file.includes('dist/index.js'))).toBe(true)
    expect(files.filter((file) => /node_modules\/(isomorphic-)?ws\//.test(file))).toEqual([])
  })

  test('brings ws where Node 20 has no WebSocket of its own', async () => {
    const files = await bundled('node')
    expect(files.some((file) => /node_modules\/ws\//.test(file))).toBe(true)
  })

  test('has the dependencies that it promises, and no others', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['isomorphic-ws', 'ws', 'zod'])
    const optional = Object.entries(manifest.peerDependenciesMeta).filter(([, { optional }]) => optional)
    expect(optional.map(([name]) => name)).toEqual(Object.keys(manifest.peerDependencies))
  })
})
