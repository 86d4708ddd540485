import { expect } from 'vitest'
import type { SyncFrame } from '../../../src/protocol/frame.ts'
import type { WireRow } from '../../../src/protocol/row.ts'
import type { TxOp } from '../../../src/protocol/tx.ts'
import type { ClientTransaction, Judge, Log, LogRead } from '../../../src/server/log/log.ts'
import { ownershipJudge } from '../../../src/server/log/ownership.ts'
import { separator } from '../../../src/server/log/separator.ts'

/** A test over a log without content, which is closed afterwards. */
export type LogTest = (name: string, run: (log: Log) => Promise<void>) => void

export const asService = ownershipJudge({ ownerField: 'userId', models: undefined })

export function as(...owners: readonly string[]): Judge {
  return ownershipJudge({ ownerField: 'userId', models: undefined, owners })
}

export const fail: Judge = () => {
  throw new Error('The judge broke.')
}

/** A transaction of ann's; its digest is that of its ops. */
export function txOf(
  id: string,
  ops: readonly TxOp[],
  { owner = 'ann', ...more }: Partial<ClientTransaction> & { readonly owner?: string } = {},
): ClientTransaction {
  const who = { caller: 'ann', owners: [owner] }
  return { ...who, id, digest: JSON.stringify(ops), ops, bases: [], requires: [], ...more }
}

/** What `read` gives. Each item stands on lines of its own. */
export async function items<T>(read: LogRead): Promise<readonly T[]> {
  const found: T[] = []
  for await (const batch of read.batches) {
    const texts = batch.split(separator)
    expect(texts.some((text) => text === '' || text.includes('\n'))).toBe(false)
    for (const text of texts) found.push(JSON.parse(text))
  }
  return found
}

export async function rowsOf(log: Log, ...owners: readonly string[]): Promise<readonly WireRow[]> {
  return items(await log.snapshot(owners.length > 0 ? owners : ['ann']))
}

export async function framesOf(
  log: Log,
  after = 0,
  ...owners: readonly string[]
): Promise<readonly SyncFrame[]> {
  return items(await log.delta(owners.length > 0 ? owners : ['ann'], after))
}
