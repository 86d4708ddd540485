import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Builds the page in memory. Resolves with its files, by path. */
export async function buildPage() {
  const { build } = await import('vite')
  const { output } = await build({
    root: fileURLToPath(new URL('..', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    build: { write: false },
  })
  return new Map(
    output.map(({ fileName, code, source }) => {
      const path = fileName === 'index.html' ? '/' : `/${fileName}`
      return [path, { body: code ?? source, type: types[extname(fileName)] ?? 'application/octet-stream' }]
    }),
  )
}
