import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

/** What a page brings that imports a client and one store, in bytes of brotli; it may not grow unnoticed. */
const maxBytes = 60_300

const root = fileURLToPath(new URL('../..', import.meta.url))

async function bundleOf(contents: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    // Without the paths that lead to the sources.
    tsconfigRaw: {},
    format: 'esm',
    platform: 'browser',
    logLevel: 'error',
  })
  const taken = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs))
  const files = taken.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file)
  return { bytes: outputFiles[0]?.contents ?? new Uint8Array(), files }
}

test(`a client and its store take at most ${maxBytes / 1_000} kB of a page`, async () => {
  const { bytes } = await bundleOf("export { SyncClient, indexedDbStore } from 'instep'")
  expect(brotliCompressSync(bytes).length).toBeLessThanOrEqual(maxBytes)
})

test('a client and its store pull in no other package', async () => {
  const { files } = await bundleOf("export { SyncClient, indexedDbStore } from 'instep'")
  const packages = files.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? [])
  expect(packages).toEqual([])
})

test('a client without the IndexedDB store does not bring it', async () => {
  const { bytes } = await bundleOf("export { SyncClient, memoryStore } from 'instep'")
  expect(new TextDecoder().decode(bytes)).not.toContain('createObjectStore')
})
