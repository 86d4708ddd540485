// Makes sure that there is a Python that runs the example of a backend in Python.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findPython } from './find-python.mjs'

const canInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0

if (!findPython() && canInstall) {
  console.log('Installing aiohttp for the backend in Python…')
  run('apt-get', 'update')
  run('apt-get', 'install', '-y', '--no-install-recommends', 'python3-aiohttp')
}

if (!findPython()) {
  const how = "install Debian's package python3-aiohttp or what your system has in its place"
  console.error(`The tests need Python 3.9 or later with aiohttp: ${how}, or set PYTHON to the path of one.`)
  process.exit(1)
}

function run(command, ...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
}
