import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { defineConfig, type Plugin } from 'vite'

/** Adds the service worker to a built page, with the names of all files of the page. */
const serviceWorker: Plugin = {
  name: 'service-worker',
  applyToEnvironment: ({ name }) => name === 'client',
  generateBundle: {
    order: 'post',
    async handler(_, bundle) {
      const built = Object.values(bundle)
      const files = built.map(({ fileName }) => (fileName === 'index.html' ? '/' : `/${fileName}`))
      const hash = createHash('sha256')
      for (const file of built) hash.update(file.type === 'chunk' ? file.code : file.source)
      const template = await readFile(new URL('src/service-worker.js', import.meta.url), 'utf8')
      const source = template
        .replace('__VERSION__', hash.digest('hex').slice(0, 12))
        .replace('__FILES__', JSON.stringify(files))
      this.emitFile({ type: 'asset', fileName: 'service-worker.js', source })
    },
  },
}

export default defineConfig({
  build: { outDir: 'dist/page' },
  plugins: [serviceWorker],
  ssr: { external: ['instep'] },
})
