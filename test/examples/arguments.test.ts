import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { findPython } from '../setup/find-python.mjs'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))

/** The commands that run an example, by the names of their scripts. */
const commands = Object.entries(manifest.scripts).flatMap(([name, script]) => {
  const [, file] = /node examples\/(\S+)$/.exec(script) ?? []
  return file ? [{ name, file }] : []
})

/** Runs a command in an empty folder, and returns how it ended and what is in the folder. */
function run(file: string, ...args: readonly string[]) {
  const { lines, ...ended } = ranBy(process.execPath, file, args)
  const [sentence, usage] = lines
  return { ...ended, sentence, usage }
}

function ranBy(program: string, file: string, args: readonly string[]) {
  const cwd = mkdtempSync(join(tmpdir(), 'instep-arguments-'))
  const { status, stderr, stdout } = spawnSync(program, [join(examples, file), ...args], {
    cwd,
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { status, lines: stderr.trim().split('\n'), stdout, files: readdirSync(cwd) }
}

test('every example that can be started has a script', () => {
  const started = readdirSync(examples, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.mjs') && !path.includes('node_modules/'))
    .filter((path) => readFileSync(join(examples, path), 'utf8').includes('arguments.mjs'))
  expect(commands.map(({ file }) => file).sort()).toEqual(started.sort())
})

describe.each(commands)('npm run $name', ({ name, file }) => {
  test.each([
    ['an unknown option', ['--prot', '5301'], "Unknown option '--prot'."],
    ['an unknown short option', ['-x'], "Unknown option '-x'."],
  ])('refuses %s in one sentence, and creates nothing', (_, args, expected) => {
    const { status, sentence, usage, files } = run(file, ...args)
    expect(status).toBe(2)
    expect(sentence).toBe(expected)
    expect(usage).toMatch(new RegExp(`^Usage: npm run ${name} `))
    expect(files).toEqual([])
  })

  test('--help says how to use it', () => {
    const { status, stdout } = run(file, '--help')
    expect(status).toBe(0)
    expect(stdout).toContain(`Usage: npm run ${name} `)
  })
})

test.each([
  ['demo/start.mjs', ['--port', 'high'], '--port must be a whole number from 0 to 65535.'],
  ['demo/start.mjs', ['--port'], "Option '--port <value>' argument missing."],
  ['demo/start.mjs', ['folder'], "Unknown argument 'folder'."],
  ['demo/change.mjs', ['--rows', '0'], '--rows must be a whole number from 1 to 10000.'],
  ['demo/change.mjs', ['5'], "Unknown argument '5'."],
  ['team-app/start.mjs', ['--port', ''], '--port must be a whole number from 0 to 65535.'],
  ['team-app/start.mjs', ['one', 'two'], 'There is one database at most; two is one too many.'],
])('examples/%s refuses %j, and creates nothing', (file, args, expected) => {
  const { status, sentence, files } = run(file, ...args)
  expect(status).toBe(2)
  expect(sentence).toBe(expected)
  expect(files).toEqual([])
})

test.each([
  ['an unknown option', ['--prot', '5301']],
  ['an option that is cut short', ['--tok', 'a', 'ada']],
  ['an argument', ['folder']],
])('examples/backend-python refuses %s in one sentence, and creates nothing', (_, args) => {
  const python = findPython()
  if (python === undefined) throw new Error('There is no Python with aiohttp; run `npm run setup`.')
  const all = ['--database', 'data.db', '--port', '0', ...args]
  const { status, lines, files } = ranBy(python, 'backend-python/server.py', all)
  expect(status).toBe(2)
  expect(lines[0]).toMatch(/^usage: server\.py /)
  expect(lines.at(-1)).toBe(`server.py: error: unrecognized arguments: ${args.join(' ')}`)
  expect(files).toEqual([])
})
