// Breaks the source one line at a time, and sees that the test of each invariant notices.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

const help = `Applies each change of mutations.ts to a copy of the project, alone, and expects the test that it names to fail.

  node test/mutation-testing/run.mjs               all of them
  node test/mutation-testing/run.mjs --only 49     those of invariant 49; may be given more than once
  node test/mutation-testing/run.mjs --help        this text

Ends with 1 where a test does not pass without a change, or passes with one.`

/** So long may a run of vitest take for each file of tests, in ms. */
const maxMs = 180_000

const root = fileURLToPath(new URL('../..', import.meta.url))
const { values: options } = parseArgs({
  options: { only: { type: 'string', multiple: true }, help: { type: 'boolean' } },
})
if (options.help) console.log(help)
else process.exitCode = await run(options.only?.map(Number))

async function run(only) {
  const all = await readMutations()
  const mutations = only ? all.filter(({ invariant }) => only.includes(invariant)) : all
  if (mutations.length === 0) {
    console.error(`There is no mutation for invariant ${only.join(', ')}.`)
    return 1
  }
  const copy = makeCopy()
  console.log(`First the tests of ${count(mutations)}, without any change…`)
  const red = await failingUnchanged(copy, mutations)
  if (red.length > 0) return report('These tests do not pass, or are not there, without any change:', red)

  const faults = []
  for (const [index, mutation] of mutations.entries()) {
    const { invariant, file } = mutation
    const began = Date.now()
    const verdict = await verdictOn(copy, mutation)
    const seconds = ((Date.now() - began) / 1_000).toFixed(1)
    console.log(
      `[${index + 1}/${mutations.length}] invariant ${invariant}, ${file}: ${verdict} (${seconds} s)`,
    )
    if (verdict !== 'noticed') faults.push(`${describe(mutation)}\n    ${verdict}`)
  }
  if (faults.length > 0) return report('These changes were not noticed as they should be:', faults)
  console.log(`All of ${count(mutations)} were noticed.`)
  return 0
}

/** What became of one change: `noticed`, or what is wrong. */
async function verdictOn(copy, mutation) {
  const { file, from, to } = mutation
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  const parts = source.split(from)
  if (parts.length !== 2) return `the line is there ${parts.length - 1} times, and not once`
  writeFileSync(path, parts.join(to))
  try {
    const results = await runTests(copy, [mutation])
    if (results === undefined) return 'the run did not end in time, or brought no result'
    if (results.length === 0) return 'the test did not run: does the changed file still load?'
    return results.some(({ status }) => status === 'failed') ? 'noticed' : 'NOT NOTICED: the test passes'
  } finally {
    writeFileSync(path, source)
  }
}

/** The tests that do not pass as things are, each once. */
async function failingUnchanged(copy, mutations) {
  const results = (await runTests(copy, mutations)) ?? []
  const red = mutations.filter(({ test, name }) => {
    const pattern = new RegExp(patternOf(name))
    const own = results.filter(({ file, fullName }) => file === join(copy, test) && pattern.test(fullName))
    return own.length === 0 || own.some(({ status }) => status === 'failed')
  })
  return [...new Set(red.map(({ test, name }) => `${test}: ${name}`))]
}

/** Runs the tests that `mutations` name and no other. Gives those that ran; `undefined` where there is no result. */
async function runTests(copy, mutations) {
  const output = join(copy, 'mutation-result.json')
  rmSync(output, { force: true })
  const files = [...new Set(mutations.map(({ test }) => test))]
  const args = ['run', '--config', 'test/vitest.config.ts', '--reporter', 'json', '--outputFile', output]
  const pattern = mutations.map(({ name }) => patternOf(name)).join('|')
  const vitest = join(copy, 'node_modules', 'vitest', 'vitest.mjs')
  await exec(process.execPath, [vitest, ...args, '-t', pattern, ...files], copy, maxMs * files.length)
  const { testResults } = readResult(output)
  return testResults?.flatMap(({ name: file, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status }) => ({ file, fullName, status })),
  )
}

/** Nothing, where the run did not come to its end. */
function readResult(output) {
  try {
    return JSON.parse(readFileSync(output, 'utf8'))
  } catch {
    return {}
  }
}

/** Resolves when the process has ended, however it did. After `maxMs`, it is killed with all that it has started. */
async function exec(command, args, cwd, maxMs) {
  const child = spawn(command, args, { cwd, detached: true, stdio: 'ignore' })
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), maxMs)
  await once(child, 'exit')
  clearTimeout(timer)
}

/** A name as it is written in a test file matches each name that is made of it. */
function patternOf(name) {
  return name
    .split(/\$\{.+?\}|%[sijd]/)
    .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('.*')
}

/** A copy of the project in a temporary folder, which goes when this process does. */
function makeCopy() {
  const copy = mkdtempSync(join(realpathSync(tmpdir()), 'instep-mutations-'))
  process.on('exit', () => rmSync(copy, { recursive: true, force: true }))
  process.on('SIGINT', () => process.exit(130))
  for (const name of ['src', 'test', 'docs', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
  return copy
}

/** Node 20 reads no TypeScript by itself. */
async function readMutations() {
  const entry = fileURLToPath(new URL('mutations.ts', import.meta.url))
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false })
  const { mutations } = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`)
  return mutations
}

function describe({ test, name, file, from, to }) {
  return `${test}: ${name}\n    ${file}: ${from}\n    → ${to || '(nothing)'}`
}

function count(mutations) {
  return mutations.length === 1 ? '1 change' : `${mutations.length} changes`
}

function report(title, lines) {
  console.error([title, ...lines.map((line) => `- ${line}`)].join('\n'))
  return 1
}
