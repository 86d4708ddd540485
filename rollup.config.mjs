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

// An empty database, since PGlite takes seconds to make one; without the templates, two thirds of its files, that only
// another database would be made of. A larger window than usual: it repeats itself far apart.
const seed = {
  name: 'pglite-seed',
  async generateBundle() {
    const pglite = await PGlite.create()
    for (const template of ['template0', 'template1']) {
      await pglite.query(`alter database ${template} is_template false`)
      await pglite.query(`drop database ${template}`)
    }
    const tar = await (await pglite.dumpDataDir('none')).arrayBuffer()
    await pglite.close()
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 }
    const source = brotliCompressSync(new Uint8Array(tar), { params })
    this.emitFile({ type: 'asset', fileName: 'pglite-seed.tar.br', source })
  },
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
