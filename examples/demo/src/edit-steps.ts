import type { Transaction } from 'instep'

/** The steps of an edit: flushed to the disk, accepted by the server, and contained in the data from the server. */
export const steps = ['on disk', 'accepted', 'synced'] as const

/** For each state, the number of completed steps, or a word for a transaction that has ended otherwise. */
const reached: { readonly [State in Transaction['state']]: number | string } = {
  writing: 0,
  queued: 1,
  sending: 1,
  accepted: 2,
  synced: 3,
  rejected: 'refused',
  failed: 'not stored',
  cancelled: 'taken back',
  discarded: 'discarded',
}

/** The number of completed steps in `state`, or a word for a transaction that has ended before the last step. */
export function stepsBehind(state: Transaction['state']): number | string {
  return reached[state]
}
