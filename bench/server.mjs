import { once } from 'node:events'
import { createServer } from 'node:http'
import { snapshotOf } from './data.mjs'

/** Serves a page for each contender, the snapshot, and deltas that bring nothing; hears what the pages tell. */
export async function startServer({ rows, scripts }) {
  const snapshot = Buffer.from(snapshotOf(rows))
  const takers = new Map()
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    response.setHeader('Cache-Control', 'no-store')
    // Only an isolated page has a clock finer than 0.1 ms (High Resolution Time, section 7).
    response.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
    response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp')
    if (request.method === 'POST') {
      const told = JSON.parse(Buffer.concat(await request.toArray()).toString())
      takers.get(told.run)?.(told)
      response.end()
    } else if (pathname.endsWith('/bootstrap')) {
      response.setHeader('Content-Type', 'application/json').setHeader('Content-Length', snapshot.length)
      response.end(snapshot)
    } else if (pathname.endsWith('/delta')) {
      response.setHeader('Content-Type', 'application/json').end(`{"sid":${rows},"frames":[]}`)
    } else if (scripts.has(pathname)) {
      response.setHeader('Content-Type', 'text/javascript').end(scripts.get(pathname))
    } else {
      const name = pathname.slice(1)
      response.setHeader('Content-Type', 'text/html')
      response.end(
        `<!doctype html><meta charset="utf-8"><title>${name}</title><script type="module" src="/${name}.js"></script>`,
      )
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    snapshotBytes: snapshot.length,
    /** What the page of this run tells. */
    told: (run) => new Promise((resolve) => takers.set(run, resolve)),
    close: () => server.close(),
  }
}
