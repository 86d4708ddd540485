import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

const probe = 'import sys, sqlite3, aiohttp; sys.exit(sys.version_info < (3, 9))'

/** The path of a Python that runs examples/backend-python: what `PYTHON` says, or the first one that has aiohttp. */
export function findPython() {
  const told = process.env.PYTHON
  if (told) return hasAiohttp(told) ? told : undefined
  // Debian installs aiohttp for the Python of the system, and another one may come before it in the path.
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)]
  return folders.map((folder) => join(folder, 'python3')).find(hasAiohttp)
}

function hasAiohttp(path) {
  return spawnSync(path, ['-c', probe], { stdio: 'ignore' }).status === 0
}
