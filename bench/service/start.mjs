import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { median } from './bench.mjs'

/** From the command to `listening`, on a folder that is not there yet, and then on it again. */
export async function measureStart({ serve, rounds, say }) {
  const [first, later] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    const folder = await mkdtemp(join(tmpdir(), 'instep-bench-'))
    try {
      for (const times of [first, later]) {
        const began = performance.now()
        const service = await serve(join(folder, 'data'))
        times.push(performance.now() - began)
        await service.stop()
      }
    } finally {
      await rm(folder, { recursive: true })
    }
    say(`round ${round + 1}: ${first.at(-1).toFixed(0)} ms, then ${later.at(-1).toFixed(0)} ms`)
  }
  const [ms, again] = [median(first), median(later)].map((ms) => (ms / 1_000).toFixed(1))
  return [['first start on an empty folder, until it listens', `${ms} s, later ${again} s`, '≤ 3 s']]
}
