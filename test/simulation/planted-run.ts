import { type Mode, planOf } from './plan.ts'
import { run } from './run.ts'

/** Prints the first seed whose run shows a fault, and that fault; nothing if there is none among `count` seeds. */
const [mode, count] = process.argv.slice(2)

for (let seed = 1; seed <= Number(count); seed += 1) {
  const [fault] = (await run(planOf(seed, mode as Mode))).faults
  if (fault === undefined) continue
  console.log(`${seed}: ${fault}`)
  break
}
process.exit()
