import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { env } from 'node:process'

/*
 * A new database is made by `initdb`, which takes seconds within WebAssembly. Its result is the same each time, so it
 * is kept in the user's cache, a file for each version of PGlite, and unpacked from there the next time.
 */

/** An empty database as `dumpDataDir('gzip')` gives it; `undefined` where none is kept. */
export async function keptSeed(): Promise<Blob | undefined> {
  try {
    return new Blob([await readFile(await seedPath())])
  } catch {
    return undefined
  }
}

/** Keeps `seed` for the next time. Rejects where there is no place for it. */
export async function keepSeed(seed: Blob): Promise<void> {
  const path = await seedPath()
  const draft = `${path}-${randomUUID()}`
  await mkdir(dirname(path), { recursive: true })
  try {
    await writeFile(draft, new Uint8Array(await seed.arrayBuffer()))
    // It appears whole, whoever else makes one at the same time.
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

async function seedPath(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  const { version } = JSON.parse(await readFile(join(dirname(entry), '../package.json'), 'utf8'))
  return join(cacheFolder(), 'instep', `pglite-${version}.tar.gz`)
}

/** Where the system has files that may be made again (XDG Base Directory; Apple's and Windows's own places). */
function cacheFolder(): string {
  switch (platform()) {
    case 'darwin':
      return join(homedir(), 'Library', 'Caches')
    case 'win32':
      return env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local')
    default:
      return env.XDG_CACHE_HOME || join(homedir(), '.cache')
  }
}
