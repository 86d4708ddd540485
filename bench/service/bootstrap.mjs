import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'
import { rowOf } from '../data.mjs'
import { load, median } from './bench.mjs'

const atOnce = 1_000

/** What the service reads at once, about. */
const batchBytes = 65_536

const owner = 'ann'

/** A bootstrap beside its floor, and what it adds to the memory of the service's process. */
export async function measureBootstrap(options) {
  const { database, rows, rounds, say, serve, tokenOf } = options
  await fill(options)
  const service = await serve(database)
  const token = await tokenOf(owner)
  const [took, floors, grown] = [[], [], []]
  let bytes = 0
  try {
    for (let round = 0; round < rounds; round += 1) {
      const memory = watchMemory(service.pid)
      const read = await load({ kind: 'bootstrap', url: service.url, token })
      grown.push(await memory.stop())
      took.push(read.ms)
      bytes = read.bytes
      floors.push(await readWithPsql(database, rows, bytes))
      say(
        `round ${round + 1}: ${read.ms.toFixed(0)} ms, psql ${floors.at(-1).toFixed(0)} ms, ${grown.at(-1).toFixed(0)} MB`,
      )
    }
  } finally {
    await service.stop()
  }
  const [ms, floor] = [median(took), median(floors)]
  const size = `${rows} rows, ${(bytes / 1e6).toFixed(1)} MB`
  return [
    [
      `bootstrap, ${size}`,
      `${(ms / floor).toFixed(2)} × psql (${ms.toFixed(0)} and ${floor.toFixed(0)} ms)`,
      '≤ 2',
    ],
    ['growth of its process', `${Math.max(...grown).toFixed(0)} MB at most`, '≤ 64 MB'],
  ]
}

async function fill({ createSyncService, openSqlLog, database, rows, say, postgres }) {
  const log = await openSqlLog(database)
  const service = createSyncService({ database: log, authenticate: async () => null, ownerField: 'userId' })
  for (let from = 0; from < rows; from += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, rows - from) }, (_, index) => from + index)
    await service.write(
      numbers.map((n) => {
        const { t, id, p } = rowOf(n)
        return { op: 'i', t, id, p: { ...p, userId: owner } }
      }),
    )
    if (from % 20_000 === 0) say(`${from} rows are written`)
  }
  await service.close()
  await postgres.run('bootstrap', 'vacuum analyze')
}

/** How long psql takes to read batches as long as those that the service reads, in ms. */
async function readWithPsql(database, rows, bytes) {
  const batch = Math.ceil((batchBytes * rows) / bytes)
  const began = performance.now()
  const child = spawn('psql', ['-X', '-q', '-A', '-t', '-d', database], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.end(`
    begin isolation level repeatable read read only;
    declare items no scroll cursor for
    select '{"t":' || to_json(t) || ',"id":' || to_json(id) || ',"v":' || sid || ',"p":' || p || '}' as item
    from instep_record where owner = '${owner}' order by sid;
    ${`fetch ${batch} from items;\n`.repeat(Math.ceil(rows / batch) + 1)}
    commit;`)
  await once(child, 'exit')
  return performance.now() - began
}

/** By how much the memory of a process grows at most until it is stopped, in MB. */
function watchMemory(pid) {
  const resident = async () =>
    Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))[1]) / 1_024
  let watching = true
  const watch = async () => {
    const before = await resident()
    let most = before
    while (watching) {
      most = Math.max(most, await resident())
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return most - before
  }
  const watched = watch()
  return {
    stop() {
      watching = false
      return watched
    },
  }
}
