import type { DiskListener } from '../persistence/disk.ts'
import { endSignedOut } from './ending.ts'
import type { Parts } from './parts.ts'

/** Handles the events of the database on the disk. */
export function onDisk(parts: Parts): DiskListener {
  return {
    opening: () => parts.leadership.begin(),
    async opened() {
      parts.originStorage.opened(parts.disk.term === 1)
      await parts.mutations.transactions.opened()
      await parts.copy.restore()
      parts.following.begin()
    },
    reopened(isNew) {
      if (isNew) parts.originStorage.lose(parts.mutations.unsent.filter(({ isStored }) => isStored).length)
      parts.mutations.transactions.reopened()
      parts.copy.checkStored()
      parts.following.begin()
    },
    async leads() {
      await parts.copy.lead()
      parts.following.begin()
      parts.mutations.acknowledgements.endAgain()
    },
    fenced: () => parts.leadership.fenced(),
    signedOut: () => void endSignedOut(parts),
    ended(ends) {
      parts.mutations.acknowledgements.ended(ends)
      parts.following.postOutbox(ends)
    },
    roomNeeded: () => parts.following.askForRoom(),
    storeAgain() {
      parts.mutations.transactions.storeAgain()
      parts.mutations.acknowledgements.endAgain()
    },
    lost() {
      if (!parts.copy.position) return
      parts.fetcher.refill()
      parts.schedule.dispatch('want')
    },
    storage(failure) {
      // A follower that cannot store its transactions has to send them itself.
      if (parts.disk.outbox.refused) parts.following.leave()
      if (failure) {
        parts.options.logger.warn(failure.message, { error: failure })
        void parts.originStorage.read()
      }
      parts.commit.mark()
    },
  }
}
