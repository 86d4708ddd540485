import type { Contender, Delta, Frame } from './contenders/contender.ts'

/** Runs what the address asks for, and tells the figures. */
export async function run(contender: Partial<Contender>): Promise<void> {
  const params = new URLSearchParams(location.search)
  const tell = (result: object) =>
    fetch('/', { method: 'POST', body: JSON.stringify({ run: params.get('run'), ...result }) })
  const tasks: number[] = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(duration)
  }).observe({ type: 'longtask' })
  try {
    const measure = measures[params.get('measure') ?? '']
    if (!measure) throw new Error('There is no such measure.')
    const rows = Number(params.get('rows'))
    begin()
    const result = await measure(contender, rows)
    // Long tasks are told a little later.
    await rest(100)
    await tell({ ...result, longest: Math.max(0, ...tasks) })
  } catch (error) {
    await tell({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

/** From its last call on, tasks count in a trace. */
const begin = () => performance.mark('begin')

const encoder = new TextEncoder()

/** Of a library that took so long, in ms, no more deltas of a kind are timed. */
const slowMs = 5_000

type Measure = (contender: Partial<Contender>, rows: number) => Promise<{ readonly [what: string]: number }>

const measures: { readonly [name: string]: Measure } = {
  async firstSync(contender) {
    return { ms: await timed(() => contender.firstSync?.(location.origin)) }
  },
  async startUp(contender, rows) {
    let found = 0
    const ms = await timed(async () => {
      found = (await contender.startUp?.(location.origin)) ?? 0
    })
    if (found !== rows) throw new Error(`Found ${found} rows of ${rows}.`)
    return { ms }
  },
  async deltas(contender, rows) {
    await contender.startUp?.(location.origin)
    await rest(1_000)
    const next = deltas(rows, rows)
    const figures: { [what: string]: number } = {}
    for (const [count, rounds] of [
      [1, 301],
      [100, 301],
      [5_000, 9],
    ] as const) {
      const made = Array.from({ length: rounds }, () => {
        const text = JSON.stringify(next(count))
        return { text, bytes: encoder.encode(text) }
      })
      await rest(100)
      begin()
      const times: number[] = []
      for (const { text, bytes } of made) {
        times.push(await timed(() => contender.delta?.(text, bytes)))
        if (sum(times) > slowMs) break
        // What a library does after a large one is not the next one's.
        if (count > 1_000) await rest(100)
      }
      figures[`delta${count}`] = median(times)
    }
    return figures
  },
  async watch(contender, rows) {
    await contender.startUp?.(location.origin)
    await rest(1_000)
    let told = () => {}
    let appliedAt = Number.NaN
    const applied = () => {
      appliedAt = performance.now()
    }
    await contender.watch?.(() => told(), applied)
    // Behind all that the deltas have brought.
    const next = deltas(2 * rows, rows)
    /** From when the delta is handed over, so that to apply it counts, until the listener is called. */
    const timeToTell = async (
      hand: (text: string, bytes: Uint8Array<ArrayBuffer>) => unknown,
      round: number,
    ) => {
      const { since, sid, frames } = next(1)
      // The newest of the open ones, each time another.
      const p = { status: 'open', createdAt: 4e12 - 1_000 + round }
      const newest: Frame = { ...frames[0], op: 'u', sid, t: 'Issue', id: issue(round), p }
      const text = JSON.stringify({ since, sid, frames: [newest] })
      const bytes = encoder.encode(text)
      let toldAt = 0
      const heard = new Promise<void>((resolve) => {
        told = () => {
          toldAt = performance.now()
          resolve()
        }
      })
      const began = performance.now()
      await hand(text, bytes)
      await heard
      sinceApplied.push(toldAt - appliedAt)
      await rest(20)
      return toldAt - began
    }
    const asked: number[] = []
    const pushed: number[] = []
    const sinceApplied: number[] = []
    // Stands at the position from which the pushes go on.
    const ask = (text: string, bytes: Uint8Array<ArrayBuffer>) => contender.delta?.(text, bytes)
    await timeToTell(ask, 0)
    for (let round = 1; round <= 15; round += 1) {
      asked.push(await timeToTell(ask, 2 * round))
      pushed.push(await timeToTell(contender.push ?? ask, 2 * round + 1))
    }
    return { asked: median(asked), pushed: median(pushed), applied: median(sinceApplied) }
  },
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const issue = (n: number) => `r${String(n * 15).padStart(7, '0')}`

/** Makes deltas that go on from one another, from the position `sid`, over rows all through the data. */
function deltas(sid: number, rows: number): (count: number) => Delta {
  let row = 0
  return (count) => {
    const since = sid
    const frames = Array.from({ length: count }, (): Frame => {
      sid += 1
      row = (row + 7919) % rows
      const t = ['Issue', 'Comment', 'Project', 'User', 'Label'][row % 5] ?? 'Issue'
      return {
        sid,
        op: 'u',
        t,
        id: `r${String(row).padStart(7, '0')}`,
        p: { points: sid, title: `changed ${sid}` },
      }
    })
    return { since, sid, frames }
  }
}

async function timed(work: () => Promise<unknown> | undefined): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

function sum(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
