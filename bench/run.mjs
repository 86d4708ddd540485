// Measures Instep beside its peers, in one run, in a real Chromium. `node run.mjs --help` says how.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { findChromium } from '../test/setup/find-browsers.mjs'
import { bundle } from './bundle.mjs'
import { readOptions } from './options.mjs'
import { plotOf } from './plot.mjs'
import { startServer } from './server.mjs'
import { maxTask } from './tasks.mjs'

const help = `Usage: npm start -- [options]

  --rows N       rows of the snapshot (100000)
  --rounds N     how often everything is measured; medians are shown (3)
  --only a,b     some of: instep, dexie, rxdb, tinybase
  --help         this

Prints a table, and writes out/result.json and out/plot.svg beside this file.`

const {
  rows,
  rounds,
  only: contenders,
} = readOptions(help, { rows: 100_000, rounds: 3, only: ['instep', 'dexie', 'rxdb', 'tinybase'] })

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const scriptOf = (name) =>
  bundle(
    `import { contender } from './contenders/${name}.ts'\nimport { run } from './page.ts'\nrun(contender)`,
  )

const names = ['floor', ...contenders]
const scripts = new Map(await Promise.all(names.map(async (name) => [`/${name}.js`, await scriptOf(name)])))
const server = await startServer({ rows, scripts })
const progress = (text) => process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`)
let runs = 0
let browser = ''

/** Lets `page` measure, and gives what it tells. */
async function toldBy(page, name, what) {
  runs += 1
  const told = server.told(String(runs))
  await page.goto(`${server.url}/${name}?measure=${what}&rows=${rows}&run=${runs}`)
  const result = await told
  if (result.error) throw new Error(`${name}, ${what}: ${result.error}`)
  // JSON has no NaN, which is what cannot be told.
  return Object.fromEntries(Object.entries(result).map(([what, figure]) => [what, figure ?? Number.NaN]))
}

/** Opens a page, and gives what it tells and how large its heap has become. */
async function measure(context, name, what) {
  progress(`${name}: ${what}…`)
  const page = await context.newPage()
  const result = await toldBy(page, name, what)
  const session = await context.newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  await page.close()
  return { ...result, heap: usedSize }
}

/** Opens a page, and gives how long its longest task takes. Of others than Instep a trace can be gigabytes. */
async function trace(context, name, what) {
  if (name !== 'instep') return Number.NaN
  progress(`${name}: ${what}, traced…`)
  const page = await context.newPage()
  const longest = await maxTask(await context.newCDPSession(page), () => toldBy(page, name, what))
  await page.close()
  return longest
}

/** Runs `body` in a browser with a fresh profile, told what the floor takes there. */
async function inBrowser(body) {
  const profile = await mkdtemp(join(tmpdir(), 'instep-bench-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
  })
  browser = `Chromium ${context.browser()?.version() ?? ''}`.trim()
  try {
    await measure(context, 'floor', 'firstSync')
    return await body(context, await measure(context, 'floor', 'firstSync'))
  } finally {
    await context.close()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function measureAll(name) {
  const tasks = await inBrowser(async (context) => ({
    'own task, first sync': await trace(context, name, 'firstSync'),
    'own task, start-up': await trace(context, name, 'startUp'),
    'own task, deltas': await trace(context, name, 'deltas'),
  }))
  return inBrowser(async (context, floor) => {
    const first = await measure(context, name, 'firstSync')
    const start = await measure(context, name, 'startUp')
    const byHand = await measure(context, 'floor', 'deltas')
    const deltas = await measure(context, name, 'deltas')
    const watch = await measure(context, name, 'watch')
    return {
      floor: floor.ms,
      'first sync': first.ms / floor.ms,
      'start-up': start.ms / floor.ms,
      'delta 1': deltas.delta1,
      'delta 100': deltas.delta100,
      'delta 5000': deltas.delta5000,
      'text of delta 1': byHand.delta1,
      'text of delta 100': byHand.delta100,
      'text of delta 5000': byHand.delta5000,
      'live query': watch.pushed,
      'live query, asked': watch.asked,
      'live query, once applied': watch.applied,
      heap: first.heap / floor.heap,
      'longest task, first sync': first.longest,
      'longest task, start-up': start.longest,
      ...tasks,
    }
  })
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
const figures = new Map(contenders.map((name) => [name, []]))
for (let round = 1; round <= rounds; round += 1) {
  for (const name of contenders) {
    progress(`round ${round} of ${rounds}: ${name}`)
    figures.get(name).push(await measureAll(name))
  }
}
progress('')
server.close()

const titles = { instep: 'Instep', dexie: 'Dexie', rxdb: 'RxDB', tinybase: 'TinyBase' }
const columns = Object.keys(figures.get(contenders[0])[0])
const medians = [...figures].map(([name, list]) => {
  const figure = columns.map((column) => [column, Number(median(list.map((one) => one[column])).toFixed(2))])
  return [titles[name], Object.fromEntries(figure)]
})
const [{ model }] = cpus()
const result = {
  machine: `${browser}, ${cpus().length} × ${model.trim()}`,
  rows,
  megabytes: Number((server.snapshotBytes / 1e6).toFixed(1)),
  rounds,
  figures: Object.fromEntries(medians),
}
await mkdir(here('out'), { recursive: true })
await writeFile(here('out/result.json'), `${JSON.stringify(result, null, 2)}\n`)
await writeFile(here('out/plot.svg'), plotOf(result))

console.log(`${result.machine}: ${rows} rows, ${result.megabytes} MB of JSON, medians of ${rounds}\n`)
console.log(`| | ${columns.join(' | ')} |\n|---|${columns.map(() => '---').join('|')}|`)
for (const [name, figure] of medians) {
  // Not every library can tell everything.
  const cells = columns.map((column) => (Number.isNaN(figure[column]) ? '–' : figure[column]))
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}
