import type { TxOp } from '../../src/protocol/tx.ts'

/** Updates of `length` records, one each, and how often the id of one was read. */
export function countedOps(length: number) {
  let reads = 0
  const ops = Array.from(
    { length },
    (_, n): TxOp => ({
      op: 'u',
      t: 'Note',
      get id() {
        reads += 1
        return `${n}`
      },
      p: { n },
    }),
  )
  return { ops, reads: () => reads }
}
