import { expect, test } from 'vitest'
import { families, type Mode, type Plan, planOf, textOfPlan } from './plan.ts'
import { kindOf, run, shortest } from './run.ts'

/** How many seeds, from which one on and in which mode; or one again, by the seed that its failure printed. */
const { RUNS, FROM = '1', KIND, SEED } = process.env

/** As many seeds are run as fit into this time, in ms, unless `RUNS` says how many. */
const limitMs = { tabs: 4_000, network: 2_000, disk: 2_000, bare: 2_000 }

if (SEED) {
  test('the run of one seed', async () => {
    const plan = await shortest(planOf(Number(SEED), KIND as Mode | undefined))
    const { faults, story } = await run(plan)
    expect(faults, [textOfPlan(plan), ...story].join('\n')).toEqual([])
  }, 600_000)
} else if (KIND) {
  test(`whatever happens in the mode ${KIND}, nothing is lost and nothing comes back`, async () => {
    expect(await failures(limitMs.tabs, () => KIND as Mode)).toEqual([])
  }, 1_200_000)
} else {
  test('whatever happens to some tabs, nothing is lost and nothing comes back', async () => {
    expect(await failures(limitMs.tabs, (seed) => families.tabs[seed % families.tabs.length])).toEqual([])
  }, 1_200_000)

  test('whatever happens to the network, nothing is lost and nothing comes back', async () => {
    expect(
      await failures(limitMs.network, (seed) => families.network[seed % families.network.length]),
    ).toEqual([])
  }, 1_200_000)

  test('whatever happens to a disk, nothing is lost and nothing comes back', async () => {
    expect(await failures(limitMs.disk, (seed) => families.disk[seed % families.disk.length])).toEqual([])
  }, 1_200_000)

  test('whatever is undone at a server without extensions, nothing is lost and nothing comes back', async () => {
    expect(await failures(limitMs.bare, (seed) => families.bare[seed % families.bare.length])).toEqual([])
  }, 1_200_000)
}

/** Each kind of fault, with the command that repeats its first seed. */
async function failures(
  maxMs: number,
  modeOf: (seed: number) => Mode | undefined,
): Promise<readonly string[]> {
  const found = new Map<string, string>()
  const began = performance.now()
  const first = Number(FROM)
  const isOver = (seed: number) => (RUNS ? seed >= first + Number(RUNS) : performance.now() - began > maxMs)
  for (let seed = first; !isOver(seed); seed += 1) {
    const plan = planOf(seed, modeOf(seed))
    for (const fault of (await run(plan)).faults) {
      const kind = kindOf(fault)
      if (!found.has(kind)) found.set(kind, `${kind}: ${replay(plan)}`)
    }
  }
  return [...found.values()]
}

function replay({ mode, seed }: Plan): string {
  return `KIND='${mode}' SEED=${seed} npx vitest run --config test/vitest.config.ts test/simulation/simulation.test.ts`
}
