// Plants bugs in the client, one at a time, and sees that the simulation finds each of them.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const help = `Runs the simulation with each bug of planted.ts, alone, up to the first seed that shows a fault.

  node test/simulation/planted.mjs              all of them
  node test/simulation/planted.mjs --only 3     the third one; may be given more than once
  node test/simulation/planted.mjs --seeds 600  so many seeds at most, and not those that the table says
  node test/simulation/planted.mjs --help       this text

Ends with 1 where a bug is not found.`

/** So long may the seeds of one bug take, in ms. */
const maxMs = 300_000

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    seeds: { type: 'string' },
    help: { type: 'boolean' },
  },
})
if (options.help) console.log(help)
else process.exitCode = await findAll()

async function findAll() {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'instep-planted-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  process.on('SIGINT', () => process.exit(130))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const table = join(folder, 'table.mjs')
  await bundle('planted.ts', table, [])
  const { planted } = await import(table)
  let missed = 0
  for (const [index, { hole, mode, within, changes }] of planted.entries()) {
    if (options.only && !options.only.includes(String(index + 1))) continue
    const file = join(folder, `${index}.mjs`)
    await bundle('planted-run.ts', file, changes)
    const found = await firstFault(file, mode, options.seeds ?? within)
    if (!found) missed += 1
    console.log(`${index + 1}. ${hole}\n   ${mode}: ${found || 'NOT FOUND'}`)
  }
  console.log(missed > 0 ? `${missed} were not found.` : 'All were found.')
  return missed > 0 ? 1 : 0
}

/** The entry with all that it imports, changed as `changes` say. Throws where a line is not there once. */
async function bundle(entry, outfile, changes) {
  const left = new Set(changes)
  const plant = ({ path }) => {
    const own = changes.filter(({ file }) => path === join(root, file))
    let contents = readFileSync(path, 'utf8')
    for (const change of own) {
      const parts = contents.split(change.from)
      if (parts.length !== 2) throw new Error(`${change.file} has “${change.from}” ${parts.length - 1} times`)
      contents = parts.join(change.to)
      left.delete(change)
    }
    return { contents, loader: 'ts' }
  }
  await build({
    entryPoints: [join(root, 'test/simulation', entry)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
    plugins: [{ name: 'plant', setup: ({ onLoad }) => onLoad({ filter: /\.ts$/ }, plant) }],
  })
  if (left.size > 0) throw new Error(`The simulation does not load ${[...left][0].file}.`)
}

/** What the run prints. A run that throws, or does not end in time, has found nothing. */
function firstFault(file, mode, seeds) {
  const limits = { timeout: maxMs, killSignal: 'SIGKILL' }
  return new Promise((resolve) => {
    execFile(process.execPath, [file, mode, String(seeds)], limits, (error, stdout) => {
      if (error) console.error(error.message)
      resolve(error ? '' : stdout.trim())
    })
  })
}
