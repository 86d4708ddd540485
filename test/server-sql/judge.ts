import type { Log } from '../../src/server/log/log.ts'
import { ownershipJudge } from '../../src/server/log/ownership.ts'

export const asService = ownershipJudge({ ownerField: 'userId', models: undefined })

/** The ids of the records that `owner` has. */
export async function idsOf(log: Log, owner = 'ann'): Promise<readonly string[]> {
  let text = ''
  for await (const batch of (await log.snapshot([owner])).batches) text += text === '' ? batch : `,${batch}`
  return JSON.parse(`[${text}]`).map(({ id }: { id: string }) => id)
}

/** Resolves once `condition` holds; rejects after `maxMs`. */
export async function eventually(condition: () => boolean | Promise<boolean>, maxMs = 10_000): Promise<void> {
  const end = Date.now() + maxMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come about within ${maxMs} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
