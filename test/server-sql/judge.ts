import type { Log } from '../../src/server/log/log.ts'
import { ownershipJudge } from '../../src/server/log/ownership.ts'

export const asService = ownershipJudge({ ownerField: 'userId', models: undefined })

/** The ids of the records that `owner` has. */
export async function idsOf(log: Log, owner = 'ann'): Promise<readonly string[]> {
  let text = ''
  for await (const batch of (await log.snapshot(owner)).batches) text += text === '' ? batch : `,${batch}`
  return JSON.parse(`[${text}]`).map(({ id }: { id: string }) => id)
}

/** Resolves once `condition` holds; rejects after `mostMs`. */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  mostMs = 10_000,
): Promise<void> {
  const end = Date.now() + mostMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come about within ${mostMs} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
