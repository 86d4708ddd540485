import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The folder of PostgreSQL's `initdb` and `postgres`: what `POSTGRES_BIN` says, or the newest one installed. */
export function findPostgres() {
  const told = process.env.POSTGRES_BIN
  if (told) return told
  // Debian puts each version into a folder of its own, and none of its servers into the path.
  const versions = '/usr/lib/postgresql'
  const debian = existsSync(versions) ? readdirSync(versions) : []
  debian.sort((a, b) => Number(b) - Number(a))
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...debian.map((version) => join(versions, version, 'bin')),
    '/opt/homebrew/opt/postgresql/bin',
    '/usr/local/opt/postgresql/bin',
  ]
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))))
}
