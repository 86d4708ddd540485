import { expect, test } from 'vitest'
import { type Mode, planOf, textOfPlan } from './plan.ts'
import { kindOf, run, shortest } from './run.ts'

/** How many seeds, from which one on and in which mode; or one again, by the seed that its failure printed. */
const { RUNS, FROM = '1', KIND, SEED } = process.env

/** As many seeds are run as fit into this time, in ms, unless `RUNS` says how many. */
const limitMs = 60_000

const planFor = (seed: number) => planOf(seed, KIND as Mode | undefined)

if (SEED) {
  test('the run of one seed', async () => {
    const plan = await shortest(planFor(Number(SEED)))
    const { faults, story } = await run(plan)
    expect(faults, [textOfPlan(plan), ...story].join('\n')).toEqual([])
  }, 600_000)
} else {
  test('whatever happens to some tabs, nothing is lost and nothing comes back', async () => {
    /** The first seed that shows each kind of fault. */
    const found = new Map<string, number>()
    const began = performance.now()
    const first = Number(FROM)
    const isOver = (seed: number) =>
      RUNS ? seed >= first + Number(RUNS) : performance.now() - began > limitMs
    for (let seed = first; !isOver(seed); seed += 1) {
      const { faults } = await run(planFor(seed))
      for (const fault of faults) {
        const kind = kindOf(fault)
        if (!found.has(kind)) found.set(kind, seed)
      }
    }
    expect([...found].map(([kind, seed]) => `${kind}: ${replay(seed)}`)).toEqual([])
  }, 1_200_000)
}

function replay(seed: number): string {
  const kind = KIND ? `KIND='${KIND}' ` : ''
  return `${kind}SEED=${seed} npx vitest run --config test/vitest.config.ts test/simulation/simulation.test.ts`
}
