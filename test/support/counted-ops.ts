import type { TxOp } from '../../src/protocol/tx.ts'

/** Updates of one record, and how often one of them was looked at. */
export function countedUpdates(length: number, t = 'Note') {
  let reads = 0
  const ops = Array.from(
    { length },
    (_, n): TxOp => ({
      get op() {
        reads += 1
        return 'u' as const
      },
      t,
      id: '1',
      p: { n },
    }),
  )
  return { ops, reads: () => reads }
}

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
