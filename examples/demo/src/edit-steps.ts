import type { Transaction } from 'instep'

/** What an edit goes through: it is flushed to the disk, taken by the server, and part of the data that came back. */
export const steps = ['on disk', 'accepted', 'synced'] as const

/** How far a transaction in each state has come, or how it ended otherwise. */
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

/** How many of the steps are behind `state`, or a word for how it ended before the last one. */
export function stepsBehind(state: Transaction['state']): number | string {
  return reached[state]
}
