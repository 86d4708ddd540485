// Makes sure that there are the browsers that the tests need.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findChromium, findFirefox, findWebKit, findXvfb } from './find-browsers.mjs'

const programs = [
  { name: 'Chromium', find: findChromium, package: 'chromium', variable: 'CHROMIUM' },
  { name: 'Firefox', find: findFirefox, package: 'firefox-esr', variable: 'FIREFOX' },
  { name: 'WebKitGTK', find: findWebKit, package: 'webkit2gtk-driver', variable: 'WEBKIT' },
  { name: 'Xvfb', find: findXvfb, package: 'xvfb', variable: 'XVFB' },
]
const isThere = ({ find }) => existsSync(find() ?? '')

const canInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0
const wanted = programs.filter((program) => !isThere(program))
if (wanted.length > 0 && canInstall) {
  console.log(`Installing for the browser tests: ${wanted.map(({ name }) => name).join(', ')}…`)
  run('apt-get', 'update')
  run('apt-get', 'install', '-y', '--no-install-recommends', ...wanted.map((program) => program.package))
}

const missing = programs.filter((program) => !isThere(program))
for (const program of missing) {
  const how = `install Debian's package ${program.package} or what your system has in its place`
  console.error(`The tests need ${program.name}: ${how}, or set ${program.variable} to its path.`)
}
process.exit(missing.length > 0 ? 1 : 0)

function run(command, ...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
}
