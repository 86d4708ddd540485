import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
const out = here('../out/service')
const secret = 'a secret that is long enough to sign with'

const contents = `
  export { startPostgres } from '../../test/support/postgres.ts'
  export { createSyncService, openSqlLog, signToken } from '../../src/server/index.ts'
  export { SyncClient } from '../../src/index.ts'`

/** What the parts of the benchmark work with. */
export async function bench() {
  await mkdir(join(out, 'dist/cli'), { recursive: true })
  // The command line says its version, which it reads from there.
  await copyFile(here('../../package.json'), join(out, 'package.json'))
  // What a first start begins from is made by `npm run build`.
  await copyFile(here('../../dist/pglite-tables.tar.br'), join(out, 'dist/pglite-tables.tar.br'))
  const cli = await bundle({ entryPoints: [here('../../src/cli/index.ts')] }, 'dist/cli/index.mjs')
  const parts = await bundle({ stdin: { contents, resolveDir: here('.'), loader: 'ts' } }, 'parts.mjs')
  const { startPostgres, signToken, ...server } = await import(pathToFileURL(parts).href)
  const postgres = await startPostgres(['max_wal_size=2GB'])
  return {
    ...server,
    postgres,
    tokenOf: (userId, owners) => signToken({ secret, userId, ...(owners && { owners }) }),
    serve: (database, ...more) => serve(cli, database, more),
    stop: () => postgres.stop(),
  }
}

async function bundle(entry, name) {
  const outfile = join(out, name)
  await build({
    ...entry,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    alias: { '#websocket': here('../../src/base/websocket.node.ts') },
    tsconfigRaw: {},
    logLevel: 'error',
  })
  return outfile
}

/** `instep serve` in a process of its own. */
async function serve(cli, database, more) {
  const child = spawn(process.execPath, [cli, 'serve', '--database', database, '--port', '0', ...more], {
    cwd: dirname(cli),
    env: { ...process.env, INSTEP_JWT_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const atExit = () => child.kill('SIGKILL')
  process.once('exit', atExit)
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /^listening on (\S+)$/.exec(line) ?? []
    if (!url) continue
    return {
      url,
      pid: child.pid,
      async stop() {
        process.off('exit', atExit)
        child.kill('SIGTERM')
        await once(child, 'exit')
      },
    }
  }
  throw new Error('The service did not start.')
}

/** Runs one job of `load.mjs` in a process of its own. A job without an end of its own ends once `until` resolves. */
export async function load(job, until) {
  const child = fork(here('load.mjs'))
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The load ended with ${code}.`)
  })
  ended.catch(() => {})
  child.send(job)
  until?.finally(() => child.send('end'))
  try {
    return (await Promise.race([once(child, 'message'), ended]))[0]
  } finally {
    child.kill()
  }
}

export function median(values) {
  return percentile(values, 0.5)
}

export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
