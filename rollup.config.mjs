import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'
import { dts } from 'rollup-plugin-dts'
import esbuild from 'rollup-plugin-esbuild'

// One build of all entries, so that a class exists once, whichever of them it is imported from.
const input = {
  index: 'src/index.ts',
  'react/index': 'src/react/index.ts',
  'tanstack-db/index': 'src/tanstack-db/index.ts',
  'server/index': 'src/server/index.ts',
  'sqlite/index': 'src/sqlite/index.ts',
  'testing/index': 'src/testing/index.ts',
  'testing/msw/index': 'src/testing/msw/index.ts',
}

// The socket to fall back on, chosen by the package's `imports` conditions.
const sockets = {
  'websocket.node': 'src/base/websocket.node.ts',
  'websocket.native': 'src/base/websocket.native.ts',
}

// Files of their own, so that a page which does not use them leaves out what they bring, too.
const ownFile = (id) => (/\/storage\/indexeddb[\w-]*\.ts$/.test(id) ? 'indexeddb' : undefined)

// Whatever is not a file of ours is installed beside the package, or is Node's own.
const external = (id) => !id.startsWith('.') && !id.startsWith('/')

// Run, never imported: so as a module only.
const commands = { 'cli/index': 'src/cli/index.ts' }

// A database with empty tables of Instep, which the build itself makes, since PGlite takes seconds to make one. Without the
// templates, two thirds of its files, that only another database would be made of. Shut down, or else PostgreSQL would
// recover it at each first start. A larger window than usual: it repeats itself far apart.
const seed = {
  name: 'pglite-seed',
  async writeBundle({ dir }) {
    const [file, folder] = [join(dir, 'pglite-tables.tar.br'), await mkdtemp(join(tmpdir(), 'instep-seed-'))]
    // Not from the seed of an earlier build.
    await rm(file, { force: true })
    const { openSqlLog } = await import(pathToFileURL(resolve(dir, 'server/index.js')).href)
    await (await openSqlLog(folder)).close()
    const data = join(folder, 'pgdata')
    const pglite = await PGlite.create(data)
    for (const template of ['template0', 'template1']) {
      await pglite.query(`alter database ${template} is_template false`)
      await pglite.query(`drop database ${template}`)
    }
    await pglite.close()
    const tar = await pack(data)
    await rm(folder, { recursive: true })
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 }
    await writeFile(file, brotliCompressSync(tar, { params }))
  },
}

/** The content of a folder as an archive ("ustar"), as PGlite reads it: each name begins with a slash. */
async function pack(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
  const blocks = []
  for (const { entry, path } of paths.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    if (entry.name === 'postmaster.pid') continue
    const content = entry.isFile() ? await readFile(path) : Buffer.alloc(0)
    const header = Buffer.alloc(512)
    header.write(path.slice(folder.length).replaceAll('\\', '/'))
    header.write(entry.isFile() ? '0000600' : '0000700', 100)
    header.write(content.length.toString(8).padStart(11, '0'), 124)
    header.write('00000000000', 136)
    // While the sum is made, spaces are in its place.
    header.write(`        ${entry.isFile() ? 0 : 5}`, 148)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0`, 148)
    blocks.push(header, content, Buffer.alloc(-content.length & 511))
  }
  return Buffer.concat([...blocks, Buffer.alloc(1_024)])
}

const scripts = (format, ending, entries) => ({
  input: entries,
  external,
  treeshake: { moduleSideEffects: 'no-external' },
  plugins: [esbuild({ target: 'es2022', tsconfig: false }), ...(format === 'es' ? [seed] : [])],
  output: {
    dir: 'dist',
    format,
    sourcemap: true,
    hoistTransitiveImports: false,
    // `require` for packages, too: Jest, as it comes, runs CommonJS without `import()`.
    dynamicImportInCjs: false,
    manualChunks: ownFile,
    onlyExplicitManualChunks: true,
    // So that a framework which renders on a server knows where the page begins.
    banner: ({ name }) => (name === 'react/index' ? "'use client'" : ''),
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `chunks/[name]-[hash].${ending}`,
  },
})

export default [
  scripts('es', 'js', { ...input, ...sockets, ...commands }),
  scripts('cjs', 'cjs', { ...input, ...sockets }),
  {
    input,
    external,
    plugins: [dts()],
    output: ['js', 'cjs'].map((ending) => ({
      dir: 'dist',
      format: 'es',
      entryFileNames: ending === 'js' ? '[name].d.ts' : '[name].d.cts',
      chunkFileNames: ending === 'js' ? 'chunks/[name]-[hash].d.ts' : 'chunks/[name]-[hash].d.cts',
    })),
  },
]
