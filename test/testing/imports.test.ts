import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

/** What a bundler takes in for an entry: packages by name, and Node's own modules. */
async function packagesOf(entry: string, platform: 'browser' | 'node'): Promise<readonly string[]> {
  const { metafile } = await build({
    entryPoints: [fileURLToPath(new URL(`../../src/testing/${entry}`, import.meta.url))],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform,
    packages: 'external',
    alias: { '#websocket': fileURLToPath(new URL('../../src/base/websocket.native.ts', import.meta.url)) },
    logLevel: 'error',
  })
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
  return [...new Set(imports.map(({ path }) => path.split('/')[0] ?? ''))].sort()
}

test('`instep/testing` needs no test runner, no msw and nothing of Node', async () => {
  expect(await packagesOf('index.ts', 'browser')).toEqual(['hono', 'zod'])
})

test('msw is needed by its own entry alone', async () => {
  expect(await packagesOf('msw/index.ts', 'browser')).toEqual(['msw'])
})
