// Builds the package and checks the sources at the same time, since each takes one core; then finds what tests need.
import { spawn } from 'node:child_process'
import { once } from 'node:events'

async function run(script) {
  const [code] = await once(
    spawn('npm', ['run', script], { stdio: 'inherit', shell: process.platform === 'win32' }),
    'exit',
  )
  return code ?? 1
}

const codes = await Promise.all([run('build'), run('check')])
process.exitCode = Math.max(...codes) || (await run('setup'))
