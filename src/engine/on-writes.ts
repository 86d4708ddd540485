import { isSyncError } from '../base/errors.ts'
import type { MutationsListener } from '../mutations/mutations.ts'
import type { Parts } from './parts.ts'

/** Handles the events of the transactions in this tab. */
export function onWrites(parts: Parts): MutationsListener {
  return {
    rejected: (transaction) =>
      parts.later(() => {
        // An earlier listener may have decided already.
        if (transaction.state === 'rejected') parts.events.emit('rejected', transaction)
      }),
    // The server has just answered: end a wait after a NetworkError, but not a wait that the server asked for.
    fetchNeeded: () =>
      parts.schedule.dispatch(isSyncError(parts.schedule.failure, 'NetworkError') ? 'hurry' : 'want'),
    removed: (frames) => parts.copy.remove(frames),
    stored: (news) => parts.following.postOutbox(news),
    waiting: () => fetchUnlessRunning(parts),
    unreached() {
      parts.state.isReached = false
      fetchUnlessRunning(parts)
    },
  }
}

function fetchUnlessRunning({ schedule }: Parts): void {
  if (schedule.phase !== 'fetching') schedule.dispatch('want')
}
