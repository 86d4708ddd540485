// Measures what writing costs, in a real Chromium and in Node. `node writes.mjs --help` says how.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { findChromium } from '../test/setup/find-browsers.mjs'
import { bundle, imported } from './bundle.mjs'
import { readOptions } from './options.mjs'
import { startServer } from './server.mjs'

const help = `Usage: node writes.mjs [options]

  --rows N       rows of the snapshot (100000)
  --help         this

Prints a table of medians, in ms.`

const { rows } = readOptions(help, { rows: 100_000 })
const page = `
  import { indexedDbStore } from 'instep'
  import { measureWrites } from './writes.ts'
  const tell = (told) => fetch('/', { method: 'POST', body: JSON.stringify({ run: '1', ...told }) })
  measureWrites(location.origin, ${rows}, indexedDbStore())
    .then((figures) => tell({ figures }), (error) => tell({ error: error.stack }))`
const node = `export { memoryStore } from 'instep'\nexport { measureWrites } from './writes.ts'`

async function inChromium(server, profile) {
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
  })
  try {
    const told = server.told('1')
    const opened = await context.newPage()
    await opened.goto(`${server.url}/writes`)
    const { figures, error } = await told
    if (error) throw new Error(error)
    return figures
  } finally {
    await context.close()
  }
}

async function inNode(server) {
  const { measureWrites, memoryStore } = await imported(node)
  return measureWrites(server.url, rows, memoryStore())
}

const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
const server = await startServer({ rows, scripts: new Map([['/writes.js', await bundle(page)]]) })
try {
  const browser = await inChromium(server, folder)
  const memory = await inNode(server)
  console.log(`${rows} rows, medians in ms\n\n| | Chromium, IndexedDB | Node, memory |\n|---|---|---|`)
  for (const [what, ms] of Object.entries(browser)) {
    console.log(`| ${what} | ${ms.toFixed(3)} | ${memory[what].toFixed(3)} |`)
  }
} finally {
  server.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
