import { dts } from 'rollup-plugin-dts'
import esbuild from 'rollup-plugin-esbuild'

// One build of all entries, so that a class exists once, whichever of them it is imported from.
const input = {
  index: 'src/index.ts',
  'react/index': 'src/react/index.ts',
  'tanstack-db/index': 'src/tanstack-db/index.ts',
  'server/index': 'src/server/index.ts',
  'testing/index': 'src/testing/index.ts',
  'testing/msw/index': 'src/testing/msw/index.ts',
}

// The socket to fall back on, chosen by the package's `imports` conditions.
const sockets = {
  'websocket.node': 'src/base/websocket.node.ts',
  'websocket.native': 'src/base/websocket.native.ts',
}

// Files of their own, so that a page which does not use them leaves out what they bring, too.
const parts = { indexeddb: 'src/storage/indexeddb.ts' }

// Whatever is not a file of ours is installed beside the package, or is Node's own.
const external = (id) => !id.startsWith('.') && !id.startsWith('/')

export default [
  {
    input: { ...input, ...parts, ...sockets },
    external,
    treeshake: { moduleSideEffects: 'no-external' },
    plugins: [esbuild({ target: 'es2022', tsconfig: false })],
    output: ['es', 'cjs'].map((format) => ({
      dir: 'dist',
      format,
      sourcemap: true,
      hoistTransitiveImports: false,
      // So that a framework which renders on a server knows where the page begins.
      banner: ({ name }) => (name === 'react/index' ? "'use client'" : ''),
      entryFileNames: format === 'es' ? '[name].js' : '[name].cjs',
      chunkFileNames: format === 'es' ? 'chunks/[name]-[hash].js' : 'chunks/[name]-[hash].cjs',
    })),
  },
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
