import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** The script of a page: `contents` with all that they import from this folder and from the sources. */
export async function bundle(contents) {
  const { outputFiles } = await build({ ...options(contents, 'native'), minify: true })
  return outputFiles[0].text
}

let count = 0

/** What a TypeScript module exports in this process; `contents` as of `bundle`. */
export async function imported(contents) {
  const { outputFiles } = await build({
    ...options(contents, 'node'),
    platform: 'node',
    packages: 'external',
  })
  count += 1
  const file = here(`out/${process.pid}-${count}.mjs`)
  await mkdir(here('out'), { recursive: true })
  await writeFile(file, outputFiles[0].text)
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    await rm(file)
  }
}

const options = (contents, websocket) => ({
  stdin: { contents, resolveDir: here('.'), loader: 'ts' },
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  alias: { instep: here('../src/index.ts'), '#websocket': here(`../src/base/websocket.${websocket}.ts`) },
  tsconfigRaw: {},
  logLevel: 'error',
})
