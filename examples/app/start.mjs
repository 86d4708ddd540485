import { fileURLToPath } from 'node:url'
import { readArguments } from '../arguments.mjs'

const fileOf = (name) => fileURLToPath(new URL(name, import.meta.url))
const usage = 'Usage: npm run app -- [folder or memory:] [--port <number>]'
const { database, port } = readArguments({ usage, port: 4400, database: fileOf('data') })

// The page for the browser, and the server for Node.
const { build } = await import('vite')
await build({ root: fileOf('.'), logLevel: 'error' })
await build({
  root: fileOf('.'),
  logLevel: 'error',
  build: {
    ssr: 'server/server.ts',
    outDir: 'dist/server',
    rollupOptions: { output: { entryFileNames: 'server.mjs' } },
  },
})

const { start } = await import('./dist/server/server.mjs')
const app = await start({ port, database, page: fileOf('dist/page') })
process.once('SIGINT', () => app.close())
process.once('SIGTERM', () => app.close())
console.log(`Open ${app.url}, in two browsers for two users. The data is in ${database}

Ctrl-C stops it.`)
