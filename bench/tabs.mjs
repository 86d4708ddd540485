// Measures several tabs of one browser profile, in a real Chromium. `node tabs.mjs --help` says how.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bundle, imported } from './bundle.mjs'
import { startChromium } from './chromium.mjs'
import { rowOf } from './data.mjs'
import { readOptions } from './options.mjs'
import { startServer } from './server.mjs'
import { maxTask } from './tasks.mjs'

const help = `Usage: node tabs.mjs [options]

  --rows N       rows of the data (100000)
  --tabs N       tabs, two at least (5)
  --rounds N     how often each is measured (9)
  --help         this

Prints a table of medians and maxima.`

const { rows, tabs: count, rounds } = readOptions(help, { rows: 100_000, tabs: 5, rounds: 9 })
if (count < 2) {
  console.error('One tab has no followers: `--tabs` is to be 2 or more.')
  process.exit(2)
}
const progress = (text) => process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${text}` : `${text}\n`)

const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
const parts = await imported(`
  export { createSyncService, MemoryLog, serve } from '../src/server/index.ts'
  export { resolveEnvironment } from '../src/base/environment.default.ts'`)

/** A service with all rows, at the port that an earlier one has left. */
async function startService(port) {
  const service = parts.createSyncService({
    database: new parts.MemoryLog(parts.resolveEnvironment()),
    authenticate: async () => ({ userId: 'bench' }),
    ownerField: 'userId',
  })
  for (let from = 0; from < rows; from += 1_000) {
    const ops = Array.from({ length: Math.min(1_000, rows - from) }, (_, n) => {
      const { t, id, p } = rowOf(from + n)
      return { op: 'i', t, id, p: { ...p, userId: 'bench' } }
    })
    await service.write(ops)
  }
  await service.write([
    { op: 'i', t: 'Issue', id: 'probe', p: { ...rowOf(0).p, userId: 'bench', points: 0 } },
  ])
  const served = await parts.serve(service, { port, graceMs: 0 })
  const close = async () => {
    await served.close()
    await service.close()
  }
  return { url: served.url, write: (ops) => service.write(ops), close }
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1]
async function until(condition) {
  for (let tries = 0; !(await condition()); tries += 1) {
    if (tries === 1_200) throw new Error('It did not come about within a minute.')
    await pause(50)
  }
}

const page = await bundle("import './tabs.ts'")
const server = await startServer({ rows: 1, scripts: new Map([['/tabs.js', page]]) })
let service = await startService(0)
const chromium = await startChromium(join(folder, 'profile'))
const openTab = () => chromium.open(`${server.url}/tabs?service=${encodeURIComponent(service.url)}`)
const figures = []
const show = (what, values) => {
  const rounded = values.map((value) => Number(value.toFixed(1)))
  figures.push([what, median(rounded), Math.max(...rounded)])
}

try {
  progress('first sync…')
  let leader = await openTab()
  await leader.toFront()
  await leader.call('startUp')
  await leader.call('ready')

  const alone = []
  for (let round = 0; round < rounds; round += 1) {
    progress(`start-up alone, ${round + 1} of ${rounds}…`)
    await leader.close()
    leader = await openTab()
    alone.push(await leader.call('startUp'))
    await leader.call('ready')
  }
  show('start-up alone, ms', alone)

  const following = []
  for (let round = 0; round < rounds; round += 1) {
    progress(`start-up of a follower, ${round + 1} of ${rounds}…`)
    const follower = await openTab()
    following.push(await follower.call('startUp'))
    await follower.call('ready')
    await follower.close()
  }
  show('start-up of a follower, ms', following)

  progress('opening all tabs…')
  const followers = []
  for (let n = 1; n < count; n += 1) {
    const follower = await openTab()
    await follower.call('startUp')
    await follower.call('ready')
    followers.push(follower)
  }
  const tabs = [leader, ...followers]
  const states = () => Promise.all(tabs.map((tab) => tab.call('state')))
  const clear = () => Promise.all(tabs.map((tab) => tab.call('clear')))
  const leaderAndFollower = async () => {
    const roles = (await states()).map(({ role }) => role)
    return [tabs[roles.indexOf('leader')], tabs[roles.indexOf('follower')]]
  }

  let n = 0
  const probe = () => {
    n += 1
    return { op: 'u', t: 'Issue', id: 'probe', p: { points: n } }
  }
  /** Resolves once all tabs have shown the last `probe`. */
  const allShow = () =>
    until(async () =>
      (await Promise.all(tabs.map((tab) => tab.call('times')))).every(({ told }) => n in told),
    )

  /** Changes one record, again and again; gives by how much each follower showed it later than the leader, in ms. */
  async function delays() {
    const from = n + 1
    for (let round = 0; round < 10 * rounds; round += 1) {
      await service.write([probe()])
      await pause(50)
    }
    await allShow()
    const [first] = await leaderAndFollower()
    const led = (await first.call('times')).told
    const others = await Promise.all(tabs.filter((tab) => tab !== first).map((tab) => tab.call('times')))
    return others.flatMap(({ told }) =>
      Object.keys(led)
        .filter((key) => Number(key) >= from)
        .map((key) => told[key] - led[key]),
    )
  }

  await leader.toFront()
  await until(async () => (await states())[0].role === 'leader')
  await clear()
  progress('changes…')
  show('follower shows a change later than the leader, ms', await delays())
  await chromium.hideAll()
  show('the same, all tabs hidden', await delays())
  const counted = await states()
  const sum = (what) => counted.reduce((total, state) => total + state[what], 0)
  show(`requests and sockets of all tabs in ${20 * rounds} changes`, [sum('requests') + sum('sockets')])

  const takeovers = []
  for (let round = 0; round < rounds; round += 1) {
    progress(`takeover, ${round + 1} of ${rounds}…`)
    const [, follower] = await leaderAndFollower()
    await chromium.hideAll()
    await pause(2_000)
    await follower.toFront()
    await until(async () => (await follower.call('state')).role === 'leader')
    const { front, led } = await follower.call('times')
    takeovers.push(led - front)
  }
  show('takeover from a hidden leader, ms', takeovers)

  /** The longest task of a leader and of a follower while `work` runs, each in `rounds / 3` runs. */
  async function tasks(what, work) {
    for (const index of [0, 1]) {
      const longest = []
      for (let round = 0; round < Math.ceil(rounds / 3); round += 1) {
        progress(`longest task, ${what}…`)
        const traced = (await leaderAndFollower())[index]
        longest.push(
          await maxTask(traced.session, async () => {
            await traced.call('clear')
            await work()
            await pause(1_500)
          }),
        )
      }
      show(`longest task of a ${['leader', 'follower'][index]}, ${what}, ms`, longest)
    }
  }
  await tasks('delta of 5 000', async () => {
    for (let from = 0; from < 5_000; from += 1_000) {
      const ops = Array.from({ length: 1_000 }, (_, index) => {
        const { t, id } = rowOf(((from + index) * 7919) % rows)
        return { op: 'u', t, id, p: { done: n % 2 === 0 } }
      })
      await service.write(ops)
    }
    await service.write([probe()])
    await allShow()
  })
  await tasks('takeover', async () => {
    const [, follower] = await leaderAndFollower()
    await follower.toFront()
    await until(async () => (await follower.call('state')).role === 'leader')
  })
  await tasks('swap', async () => {
    const { port } = new URL(service.url)
    await service.close()
    service = await startService(Number(port))
    await service.write([probe()])
    await allShow()
  })
} finally {
  progress('')
  await chromium.quit()
  await service.close()
  server.close()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}

console.log(`${rows} rows, ${count} tabs\n\n| | median | max |\n|---|---|---|`)
for (const [what, middle, max] of figures) console.log(`| ${what} | ${middle} | ${max} |`)
