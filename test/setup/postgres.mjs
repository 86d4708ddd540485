// Makes sure that there is the PostgreSQL that the tests start for themselves.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findPostgres } from './find-postgres.mjs'

const isThere = () => existsSync(findPostgres() ?? '')
const canInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0

if (!isThere() && canInstall) {
  console.log('Installing PostgreSQL for the tests of its log…')
  run('apt-get', 'update')
  run('apt-get', 'install', '-y', '--no-install-recommends', 'postgresql')
}

if (!isThere()) {
  const how = "install Debian's package postgresql or what your system has in its place"
  console.error(`The tests need PostgreSQL: ${how}, or set POSTGRES_BIN to the folder of its \`initdb\`.`)
  process.exit(1)
}

function run(command, ...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
}
