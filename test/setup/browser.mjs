// Makes sure that there is a Chromium for the tests that need a real browser.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findChromium } from './find-chromium.mjs'

const canInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0

if (!findChromium() && canInstall) {
  console.log('Installing Chromium for the browser tests…')
  run('apt-get', 'update')
  run('apt-get', 'install', '-y', '--no-install-recommends', 'chromium')
}

const path = findChromium()
if (path === undefined || !existsSync(path)) {
  const where = path === undefined ? 'No Chromium was found' : `There is nothing at CHROMIUM=${path}`
  console.error(`${where}: install chromium or Google Chrome, or set CHROMIUM to the path of one.`)
  process.exit(1)
}

function run(command, ...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
}
